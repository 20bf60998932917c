"""(k) How long a command takes that somebody types: each side's own tool, on its own broker."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from harness.apache import STOCK_JVM
from harness.brokers import Broker
from harness.maven import classpath, need
from harness.paths import CONFORMANCE
from session import Session
from targets import Target

NAME = "tools"
BIN = Path(sys.executable).parent
TOOL_JVM = ("-Xmx256M", *STOCK_JVM[2:])
"""What Apache Kafka's scripts pass for tools when the environment says nothing else."""
TOPICS = 10
COMMANDS = {
    "kafka-topics --version": "org.apache.kafka.tools.TopicCommand",
    "kafka-topics --list": "org.apache.kafka.tools.TopicCommand",
    "kafka-topics --describe": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs --describe --entity-type topics": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups --list": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
}
"""Command lines, and the classes of Apache Kafka's tools."""


def run(session: Session) -> None:
    """The first time that a command is run does not count: files come from the disk."""
    with session.all_running() as brokers:
        for target in targets_with_tools(session):
            for _ in range(TOPICS):
                target.new_topic(brokers[target.name], 1)
            for line in COMMANDS:
                measure(target, brokers[target.name], line)
        for number, target in session.in_turn():
            if target not in targets_with_tools(session):
                continue
            for line in COMMANDS:
                action = partial(measure, target, brokers[target.name], line)
                session.take(number, target, (NAME, f"`{line}`"), action)


def targets_with_tools(session: Session) -> list[Target]:
    return [target for target in session.targets if target.name in ("apache", "barnabas")]


def measure(target: Target, broker: Broker, line: str) -> dict[str, float]:
    began = time.monotonic()
    process = subprocess.Popen(
        command(target, line, broker.bootstrap),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{target.name}: {line}: status {process.returncode}"
    return {"tool_s": seconds, "tool_cpu_s": usage.ru_utime + usage.ru_stime}


def command(target: Target, line: str, bootstrap: str) -> Sequence[str]:
    tool, *arguments = line.split()
    arguments += ["--bootstrap-server", bootstrap]
    if target.name == "barnabas":
        return [str(BIN / tool), *arguments]
    logging = CONFORMANCE / "java" / "log4j2.properties"
    java = [need("java"), *TOOL_JVM, f"-Dlog4j2.configurationFile={logging}"]
    return [*java, "-cp", classpath(), COMMANDS[line], *arguments]

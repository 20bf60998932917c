"""What a row of tools printed, made comparable between two brokers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.brokers import Broker
from harness.clients import JavaClient
from harness.jvm import Jvm, ToolRun

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
END_TO_END_LATENCY = "org.apache.kafka.tools.EndToEndLatency"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
VERIFY_REPLICAS = "org.apache.kafka.tools.ReplicaVerificationTool"

CHANGES = {"--create", "--alter", "--delete", "--execute", "--cancel", "--election-type", "upgrade"}


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a tool; `{bootstrap}` and `{data}` in its arguments stand for the broker's."""

    main: str
    arguments: Sequence[str]
    stdin: str = ""


def step(main: str, arguments: str, stdin: str = "") -> Step:
    """A step from one line of blank-separated arguments."""
    return Step(main, arguments.split(), stdin)


def run_step(jvm: Jvm, broker: Broker, one: Step) -> ToolRun:
    known = {"{bootstrap}": broker.bootstrap, "{data}": str(broker.data_dir)}
    arguments = []
    for argument in one.arguments:
        for name, value in known.items():
            argument = argument.replace(name, value)  # noqa: PLW2901
        arguments.append(argument)
    return jvm.tool(one.main, *arguments, stdin=one.stdin)


NORMAL: tuple[tuple[str, str], ...] = (
    (r"(?m)^(\tat |\t\.\.\. \d+ more).*\n", ""),  # stack traces: line numbers are nobody's contract
    (r"TopicId: [\w-]{22}", "TopicId: ID"),
    (r"Cluster ID: \S+", "Cluster ID: ID"),
    (r"127\.0\.0\.1 +\d+ ", "127.0.0.1 PORT "),
    (r"(CreateTime|LogAppendTime|[Tt]imestamp|LastTimestamp): 1\d{12}", r"\1: TIME"),
    (r"producerId: \d+", "producerId: PID"),
    (r"\d+\.\d+ (records/sec|MB/sec|ms)", r"N \1"),
    (r"\b(NaN|\d+) (ms (?:50th|95th|99th|99\.9th))", r"N \2"),
    (r"\(\d+\.\d+ MB", "(N MB"),
    # What was refused must be the same; why is said in each broker's own words.
    (r"(Invalid value \S+ for )(?:configuration )?([\w.]+): .*", r"\1\2: REASON"),
    (r"(because only \d+ broker\(s\) are registered).*", r"\1"),
    (r"(?m)^\d{4}-\d\d-\d\d [\d:]+, .*$", "MEASURED"),
    (r"(?m)^\d+\t\d+\.\d+$", "LATENCY"),
)


def normal(text: str, broker: Broker) -> str:
    """Without what differs from run to run: ports, ids, times, speeds, places, stack traces."""
    text = text.replace(broker.bootstrap, "BOOTSTRAP").replace(str(broker.data_dir), "DATA")
    for pattern, replacement in NORMAL:
        text = re.sub(pattern, replacement, text)
    return "\n".join(_in_order(line) for line in text.splitlines())


def _in_order(line: str) -> str:
    """JSON (the tool for log directories prints some) with its lists in a fixed order."""
    if not line.startswith("{"):
        return line
    return json.dumps(_ordered(json.loads(line)), sort_keys=True)


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        return {key: _ordered(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((_ordered(inner) for inner in value), key=json.dumps)
    return value


def transcript(jvm: Jvm, broker: Broker, steps: Sequence[Step]) -> str:
    """All steps against one broker, as text that a reader of a failed test can follow."""
    parts = []
    client = JavaClient(jvm, broker)
    for one in steps:
        run = run_step(jvm, broker, one)
        if CHANGES.intersection(one.arguments):
            client.settle()
        parts.append(f"$ {one.main.rpartition('.')[2]} {' '.join(one.arguments)}\n")
        for title, text in (("out", run.out), ("err", run.err)):
            if text:
                parts.append(f"{title}:\n{normal(text, broker)}\n")
        parts.append(f"status: {run.status}\n")
    return "".join(parts)

"""The same command line for one of our tools and for Apache Kafka's, against the same broker."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness.brokers import Broker
from harness.jvm import Jvm
from harness.transcript import CLUSTER

from barnabas.cli.tools import of_class

BIN = Path(sys.executable).parent
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

JAVA_NOISE = re.compile(
    r"""(?mx)
      ^\tat\ .*\n | ^\t\.\.\.\ \d+\ more\n | ^Caused\ by:.*\n
    | ^(java|joptsimple|org\.apache|com\.fasterxml)\.[\w.$]+(Exception|Error)(:.*)?\n
    | ^\ at\ \[Source:.*\n
    | ^Option\ +Description[\s\S]*                            # how to use the tool
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    status: int
    out: str
    err: str
    log: str = field(default="", compare=False)
    """Also of other tools that the same JVM ran before."""

    def lines(self) -> list[str]:
        """All that was said, wherever, in alphabetical order."""
        warned = re.findall(r"(?m)^LOG WARN OffsetsUtils: (.*)$", self.log)
        said = JAVA_NOISE.sub("", self.out + self.err).replace("warning: ", "")
        said = re.sub(r"org\.apache\.kafka\.common\.errors\.\w+: ", "", said)
        said = re.sub(r"(?m)^(WARN: .*? is missing\.).*$", r"\1", said)
        return sorted(line for line in [*said.splitlines(), *warned] if line)


def their_words(main: str, place: str, line: str) -> list[str]:
    """Their tool for clusters takes all options behind its command; ours takes them anywhere."""
    words = line.split()
    at = 1 if main == CLUSTER else 0
    return [*words[:at], *place.split(), *words[at:]]


def ours(main: str, broker: Broker, line: str) -> Outcome:
    """`main` is the class of Apache Kafka's tool, also here."""
    tool = of_class(main)
    assert tool is not None, f"there is no tool for {main}"
    run = subprocess.run(
        [BIN / tool.script, "--bootstrap-server", broker.bootstrap, *line.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Outcome(status=run.returncode, out=run.stdout, err=run.stderr)


def theirs(jvm: Jvm, main: str, broker: Broker, line: str) -> Outcome:
    run = jvm.tool(main, *their_words(main, f"--bootstrap-server {broker.bootstrap}", line))
    return Outcome(status=run.status, out=run.out, err=run.err, log=run.log)

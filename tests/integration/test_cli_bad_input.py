"""Whatever goes wrong with whatever tool: one clear line, the right exit status, no traceback.

And a terminal that is as it was.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from dying_broker import DyingBroker
from silent_server import SilentServer
from terminal import CTRL_C, Terminal

from barnabas.cli.tools import RUN_CLASS, TOOLS

BIN = Path(sys.executable).parent
NOBODY = "127.0.0.1:1"
INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Command lines of one tool."""

    good: str
    """One that asks a broker."""
    missing: str
    """One that lacks something, which is named."""
    lacks: str
    wrong: str
    """One with a value that cannot be meant."""
    names: str
    address: str = "--bootstrap-server {}"


TOOLS_OF_BROKERS = {
    "kafka-topics": Tool(
        good="--list",
        missing="--create",
        lacks="--topic",
        wrong="--create --topic t --partitions many",
        names="--partitions",
    ),
    "kafka-configs": Tool(
        good="--describe --entity-type topics --entity-name t",
        missing="--describe",
        lacks="--entity-type",
        wrong="--describe --entity-type planets --entity-name t",
        names="planets",
    ),
    "kafka-console-producer": Tool(
        good="--topic t",
        missing="",
        lacks="--topic",
        wrong="--topic t --max-block-ms soon",
        names="--max-block-ms",
    ),
    "kafka-console-consumer": Tool(
        good="--topic t --timeout-ms 60000",
        missing="",
        lacks="--topic",
        wrong="--topic t --partition first",
        names="--partition",
    ),
    "kafka-consumer-groups": Tool(
        good="--list",
        missing="--describe",
        lacks="--group",
        wrong="--list --timeout soon",
        names="--timeout",
    ),
    "kafka-transactions": Tool(
        good="list",
        missing="describe",
        lacks="--transactional-id",
        wrong="describe-producers --topic t --partition first",
        names="--partition",
    ),
    "kafka-reassign-partitions": Tool(
        good="--list",
        missing="--execute",
        lacks="--reassignment-json-file",
        wrong="--execute --reassignment-json-file /no/such/file",
        names="/no/such/file",
    ),
    "kafka-leader-election": Tool(
        good="--election-type preferred --all-topic-partitions",
        missing="--all-topic-partitions",
        lacks="--election-type",
        wrong="--election-type dirty --all-topic-partitions",
        names="dirty",
    ),
    "kafka-preferred-replica-election": Tool(
        good="",
        missing="--path-to-json-file",
        lacks="--path-to-json-file",
        wrong="--path-to-json-file /no/such/file",
        names="/no/such/file",
    ),
    "kafka-get-offsets": Tool(
        good="--topic t",
        missing="--topic",
        lacks="--topic",
        wrong="--topic t --time yesterday",
        names="yesterday",
    ),
    "kafka-delete-records": Tool(
        good="--offset-json-file {file}",
        missing="",
        lacks="--offset-json-file",
        wrong="--offset-json-file /no/such/file",
        names="/no/such/file",
    ),
    "kafka-log-dirs": Tool(
        good="--describe",
        missing="",
        lacks="--describe",
        wrong="--describe --broker-list one",
        names="one",
    ),
    "kafka-replica-verification": Tool(
        good="--topics-include .*",
        missing="--topics-include",
        lacks="--topics-include",
        wrong="--fetch-size big",
        names="--fetch-size",
        address="--broker-list {}",
    ),
    "kafka-broker-api-versions": Tool(
        good="",
        missing="--command-config",
        lacks="--command-config",
        wrong="--command-config /no/such/file",
        names="/no/such/file",
    ),
    "kafka-features": Tool(
        good="describe",
        missing="",
        lacks="describe",
        wrong="upgrade --feature kraft.version=much",
        names="much",
    ),
    "kafka-cluster": Tool(
        good="cluster-id",
        missing="unregister",
        lacks="--id",
        wrong="unregister --id first",
        names="--id",
    ),
    "kafka-metadata-quorum": Tool(
        good="describe --status",
        missing="describe",
        lacks="--status",
        wrong="predict",
        names="predict",
    ),
    "kafka-producer-perf-test": Tool(
        good="--topic t --num-records 10 --record-size 10 --throughput -1",
        missing="--topic t",
        lacks="--",
        wrong="--topic t --num-records many --record-size 10 --throughput -1",
        names="--num-records",
        address="--bootstrap-server {}",
    ),
    "kafka-consumer-perf-test": Tool(
        good="--topic t --num-records 10",
        missing="--num-records 10",
        lacks="--topic",
        wrong="--topic t --num-records many",
        names="--num-records",
    ),
    "kafka-e2e-latency": Tool(
        good="--topic t --num-records 10 --producer-acks 1 --record-size 10",
        missing="--topic t",
        lacks="--",
        wrong="--topic t --num-records many --producer-acks 1 --record-size 10",
        names="many",
    ),
    "barnabas topics tail": Tool(
        good="t",
        missing="",
        lacks="argument",
        wrong="t -n few",
        names="--lines",
    ),
    "barnabas groups lag": Tool(
        good="",
        missing="--group",
        lacks="--group",
        wrong="--watch soon",
        names="--watch",
    ),
}
OTHER_TOOLS = {
    "barnabas start",
    "kafka-server-start",
    "kafka-server-stop",
    "kafka-storage",
    "zookeeper-server-start",
    "kafka-dump-log",
    "barnabas completion",
}
"""Those that ask no broker."""
OF_LAB_AND_PIPELINES = {
    f"barnabas {name}" for name in TOOLS if name.split()[0] in ("lab", "pipeline")
}
"""What else is wrong with their options: test_lab_programs.py, test_lab_scenarios.py and
test_pipelines.py."""


def of(name: str, arguments: str, address: str, folder: Path) -> list[str | Path]:
    program, *words = name.split()
    file = folder / "offsets.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 1}]}')
    where = TOOLS_OF_BROKERS[name].address.format(address)
    given = f"{arguments.format(file=file)} {where}".split()
    return [BIN / program, *words, *given]


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, input="a line\n"
    )


def fault(command: list[str | Path]) -> str:
    """The one line that it has to say."""
    done = run(command)
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_every_tool_is_tried() -> None:
    names = {tool.script or f"barnabas {name}" for name, tool in TOOLS.items()}

    assert names == set(TOOLS_OF_BROKERS) | OTHER_TOOLS | OF_LAB_AND_PIPELINES


@pytest.mark.parametrize("name", sorted({*TOOLS_OF_BROKERS, *OTHER_TOOLS, *OF_LAB_AND_PIPELINES}))
def test_an_unknown_option_is_named(name: str) -> None:
    program, *words = name.split()

    assert "unknown option --no-such-option" in fault([BIN / program, *words, "--no-such-option"])


@pytest.mark.parametrize("name", TOOLS_OF_BROKERS)
def test_what_is_missing_is_named_before_a_broker_is_asked(name: str, tmp_path: Path) -> None:
    tool = TOOLS_OF_BROKERS[name]
    command = of(name, "", NOBODY, tmp_path) + list(tool.missing.split())

    assert tool.lacks in fault(command)


@pytest.mark.parametrize("name", TOOLS_OF_BROKERS)
def test_a_wrong_value_is_named_before_a_broker_is_asked(name: str, tmp_path: Path) -> None:
    tool = TOOLS_OF_BROKERS[name]

    assert tool.names in fault(of(name, tool.wrong, NOBODY, tmp_path))


@pytest.mark.parametrize("name", TOOLS_OF_BROKERS)
def test_without_a_broker_it_is_said_what_to_do(name: str, tmp_path: Path) -> None:
    assert fault(of(name, TOOLS_OF_BROKERS[name].good, NOBODY, tmp_path)) == (
        f'broker not reachable at {NOBODY}: is it running? Start one with "barnabas start".\n'
    )


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DyingBroker]:
    with DyingBroker(tmp_path_factory.mktemp("dying")) as broker:
        yield broker


@pytest.mark.parametrize("name", TOOLS_OF_BROKERS)
def test_a_broker_that_goes_away_midway_is_named(
    name: str, dying: DyingBroker, tmp_path: Path
) -> None:
    dying.live_for(2)

    assert dying.address in fault(of(name, TOOLS_OF_BROKERS[name].good, dying.address, tmp_path))


@pytest.mark.parametrize("name", TOOLS_OF_BROKERS)
def test_ctrl_c_ends_it_and_gives_the_terminal_back(name: str, tmp_path: Path) -> None:
    with SilentServer() as server:
        command = of(name, TOOLS_OF_BROKERS[name].good, server.address, tmp_path)
        terminal = Terminal(command)
        try:
            assert server.was_asked.wait(60)
            terminal.type(CTRL_C)
            said = terminal.read_to_end()
            assert terminal.process.returncode == INTERRUPTED
            assert b"Traceback" not in said
            assert terminal.modes_now() == terminal.modes
        finally:
            terminal.close()


def test_a_broker_in_place_of_zookeeper_is_said_to_be_none(broker: BarnabasProcess) -> None:
    done = run([BIN / "kafka-topics", "--zookeeper", broker.bootstrap, "--list"])

    assert done.returncode == 1
    assert done.stderr == (
        "warning: --zookeeper is deprecated: use --bootstrap-server\n"
        f"{broker.bootstrap} does not answer as ZooKeeper does: if it is a broker, use "
        f"--bootstrap-server {broker.bootstrap}\n"
    )


def test_a_class_that_is_no_tool_is_named() -> None:
    assert "kafka.tools.Nonsense" in fault([BIN / RUN_CLASS, "kafka.tools.Nonsense"])
    assert "class" in fault([BIN / RUN_CLASS])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("topcs --list", 'unknown command "topcs": did you mean "topics"?'),
        ("groups", 'unknown command "groups": did you mean "groups lag"?'),
        ("quux", 'unknown command "quux": "barnabas help" lists the commands'),
        ("--quux", 'unknown option "--quux": "barnabas help" lists the commands'),
        ("help topcs", 'unknown command "topcs": did you mean "topics"?'),
    ],
)
def test_a_mistyped_command_is_guessed(arguments: str, expected: str) -> None:
    assert fault([BIN / "barnabas", *arguments.split()]) == f"barnabas: {expected}\n"


FULL = Path("/dev/full")
"""A file on a disk that is full."""


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line typed into a shell that knows the tools."""
    known = {"PATH": f"{BIN}:{os.environ['PATH']}", **environment}
    return subprocess.run(
        ["/bin/sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | known,
    )


@pytest.mark.skipif(not FULL.exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("arguments", ["--list", "--help"])
def test_output_that_a_full_disk_did_not_take_is_a_failure(
    broker: BarnabasProcess, arguments: str
) -> None:
    done = shell(f"kafka-topics --bootstrap-server {broker.bootstrap} {arguments} > {FULL}")

    assert done.returncode == 1
    assert done.stderr.endswith("No space left on device\n")
    assert done.stderr.count("\n") == 1


def test_closed_streams_are_empty_ones(broker: BarnabasProcess) -> None:
    where = f"--bootstrap-server {broker.bootstrap} --topic closed"
    for line in (
        f"kafka-console-producer {where} <&-",
        f"kafka-topics {where} --create --if-not-exists >&-",
    ):
        done = shell(line)
        assert (done.returncode, done.stderr) == (0, ""), line


def test_letters_that_a_terminal_lacks_are_question_marks(broker: BarnabasProcess) -> None:
    where = f"--bootstrap-server {broker.bootstrap}"
    made = shell(
        f"kafka-topics {where} --create --topic letters && kafka-consumer-groups {where} "
        "--reset-offsets --group k\u00fcche --topic letters --to-earliest --execute"
    )
    assert made.returncode == 0, made.stderr

    shown = shell(f"kafka-consumer-groups {where} --list", PYTHONIOENCODING="ascii")

    assert shown.returncode == 0, shown.stderr
    assert "k?che" in shown.stdout.splitlines()

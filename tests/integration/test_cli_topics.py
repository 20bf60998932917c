"""`kafka-topics` as people run it: a process, its output, its exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess

from barnabas.cli.tools import RUN_CLASS, TOOLS, scripts

BIN = Path(sys.executable).parent
Topics = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def topics(broker: BarnabasProcess) -> Topics:
    """Runs the tool against the broker."""

    def run(*arguments: str, bootstrap: str = broker.bootstrap) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "kafka-topics.sh", "--bootstrap-server", bootstrap, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def ok(run: subprocess.CompletedProcess[str]) -> str:
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def fault(run: subprocess.CompletedProcess[str]) -> str:
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1, run.stderr
    return run.stderr.rstrip("\n")


def test_a_topic_from_its_creation_to_its_end(
    topics: Topics, topic_name: Callable[[], str]
) -> None:
    name = topic_name()

    created = topics(
        *("--create", "--topic", name, "--partitions", "2", "--replication-factor", "1"),
        *("--config", "retention.ms=60000", "--config", "cleanup.policy=compact"),
    )
    assert ok(created) == f"Created topic {name}.\n"
    assert fault(topics("--create", "--topic", name)) == (
        f"Error while executing topic command : Topic '{name}' already exists."
    )
    assert ok(topics("--create", "--topic", name, "--if-not-exists")) == ""
    assert name in ok(topics("--list")).splitlines()

    heading, *lines = ok(topics("--describe", "--topic", name)).splitlines()
    assert re.fullmatch(
        rf"Topic: {name}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\tReplicationFactor: 1"
        r"\tConfigs: cleanup\.policy=compact,(.*,)?retention\.ms=60000",
        heading,
    )
    leader = re.search(r"Leader: (\d+)", lines[0])
    assert leader is not None
    assert lines == [
        f"\tTopic: {name}\tPartition: {number}\tLeader: {leader[1]}\tReplicas: {leader[1]}"
        f"\tIsr: {leader[1]}\tElr: \tLastKnownElr: "
        for number in range(2)
    ]

    assert ok(topics("--alter", "--topic", name, "--partitions", "5")) == ""
    assert "PartitionCount: 5" in ok(topics("--describe", "--topic", name))
    assert "5 partition" in fault(topics("--alter", "--topic", name, "--partitions", "4"))

    assert ok(topics("--delete", "--topic", name)) == ""
    missing = f"Error while executing topic command : Topic '{name}' does not exist as expected"
    for action in (["--delete"], ["--describe"], ["--alter", "--partitions", "9"]):
        assert fault(topics(*action, "--topic", name)) == missing
        assert ok(topics(*action, "--topic", name, "--if-exists")) == ""


def test_names_that_could_collide_are_warned_about(
    topics: Topics, topic_name: Callable[[], str]
) -> None:
    name = f"{topic_name()}.with_both"

    warning, created = ok(topics("--create", "--topic", name)).splitlines()

    assert warning.startswith("WARNING: Due to limitations in metric names, topics with a period")
    assert created == f"Created topic {name}."


def test_describe_by_id_and_by_expression(topics: Topics, topic_name: Callable[[], str]) -> None:
    prefix = topic_name()
    for suffix in ("a", "b"):
        ok(topics("--create", "--topic", f"{prefix}-{suffix}"))

    both = ok(topics("--describe", "--topic", f"{prefix}-."))
    found = re.search(rf"Topic: {prefix}-b\tTopicId: (\S+)", both)
    assert found is not None
    by_id = ok(topics("--describe", "--topic-id", found[1]))

    assert both.count("TopicId") == 2
    assert by_id.startswith(f"Topic: {prefix}-b\tTopicId: {found[1]}\t")
    assert fault(topics("--describe", "--topic-id", "A" * 22)).endswith(
        f"TopicId '{'A' * 22}' does not exist as expected"
    )


def test_healthy_partitions_are_not_shown_by_the_filters(
    topics: Topics, topic_name: Callable[[], str]
) -> None:
    name = topic_name()
    ok(topics("--create", "--topic", name))

    for healthy in ("under-replicated", "unavailable", "under-min-isr"):
        assert ok(topics("--describe", "--topic", name, f"--{healthy}-partitions")) == ""
    at_minimum = ok(topics("--describe", "--topic", name, "--at-min-isr-partitions"))
    assert at_minimum.startswith(f"\tTopic: {name}\tPartition: 0\t")


def test_json_can_be_read_by_programs(topics: Topics, topic_name: Callable[[], str]) -> None:
    name = topic_name()
    ok(topics("--create", "--topic", name, "--config", "retention.ms=5"))

    assert json.loads(ok(topics("--list", "--topic", name, "--json"))) == [
        {"topic": name, "internal": False}
    ]
    (described,) = json.loads(ok(topics("--describe", "--topic", name, "--json")))
    assert described["topic"] == name
    assert described["configs"]["retention.ms"] == "5"
    assert [each["partition"] for each in described["partitions"]] == [0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--lst"], "kafka-topics: unknown option --lst: did you mean --list?"),
        (
            ["--create", "--topic", "t", "--partitions", "many"],
            'kafka-topics: --partitions: "many" is not a whole number',
        ),
        (["--create"], "kafka-topics: --topic is missing: NAME"),
        (
            ["--list", "--command-config", "/no/such/file"],
            "kafka-topics: --command-config: cannot read /no/such/file: No such file or directory",
        ),
    ],
)
def test_a_bad_command_line_needs_no_broker(
    topics: Topics, arguments: list[str], expected: str
) -> None:
    assert fault(topics(*arguments, bootstrap="127.0.0.1:1")) == expected


def test_without_a_broker_one_line_says_what_to_do(topics: Topics) -> None:
    assert fault(topics("--list", bootstrap="127.0.0.1:1")) == (
        'broker not reachable at 127.0.0.1:1: is it running? Start one with "barnabas start".'
    )


def test_client_settings_come_from_a_java_file(
    topics: Topics, broker: BarnabasProcess, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# a comment\nsecurity.protocol = PLAINTEXT\nno.such.setting=1\n")

    run = topics("--list", "--command-config", str(file))

    assert run.returncode == 0
    assert run.stderr == (
        "warning: client property no.such.setting is not known here and is ignored\n"
    )


@pytest.mark.parametrize("tool", [name for name in scripts() if not name.startswith(RUN_CLASS)])
def test_every_tool_helps(tool: str) -> None:
    run = subprocess.run([BIN / tool, "--help"], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")
    assert f"\nExamples\n  {tool.removesuffix('.sh')}" in run.stdout
    assert "\nOptions\n" in run.stdout


def test_help_loads_no_client_library() -> None:
    program = (
        "import sys, barnabas.cli.main as main; "
        "status = main.run_tool('tool', sys.argv[1], ['--help']); "
        "sys.exit(status or not sys.modules.keys().isdisjoint("
        "('confluent_kafka', 'barnabas.protocol.apis', 'kazoo', 'asyncio')))"
    )
    for module in sorted({tool.module for tool in TOOLS.values()}):
        run = subprocess.run(
            [sys.executable, "-c", program, module],
            capture_output=True,
            check=False,
        )
        assert run.returncode == 0, module


def test_the_one_program_has_every_tool(broker: BarnabasProcess) -> None:
    def barnabas(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "barnabas", *arguments], capture_output=True, text=True, check=False
        )

    assert ok(barnabas("--version")).startswith("barnabas ")
    assert "console-consumer" in ok(barnabas("help"))
    assert "barnabas topics --list" in ok(barnabas("help", "topics"))
    assert ok(barnabas("topics", "--help")) == ok(barnabas("help", "topics"))
    assert barnabas("topics", "--list", "--bootstrap-server", broker.bootstrap).returncode == 0
    assert fault(barnabas("nonsense")) == (
        'barnabas: unknown command "nonsense": "barnabas help" lists the commands'
    )
    assert barnabas().returncode == 1

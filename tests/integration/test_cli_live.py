"""Tools that go on and on: the live table of lags, and following topics."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka import Consumer, Producer, TopicPartition
from terminal import CTRL_C, Terminal

from barnabas.cli.screen import ENTER, LEAVE

BIN = Path(sys.executable).parent
Tool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BarnabasProcess]:
    """One that a test may do what it likes with."""
    with BarnabasProcess(tmp_path / "data") as process:
        yield process


@pytest.fixture
def run(broker: BarnabasProcess) -> Tool:
    def start(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "barnabas", *words, "--bootstrap-server", broker.bootstrap],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return start


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str], run: Tool) -> str:
    name = topic_name()
    assert run("topics", "--create", "--topic", name, "--partitions", "3").returncode == 0
    return name


def send(bootstrap: str, topic: str, values: list[str], *, first_ms: int = 1) -> None:
    """A record to a partition after the other, a second apart."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 3, timestamp=first_ms + 1000 * number)
    producer.flush()


def commit(bootstrap: str, group: str, topic: str, offsets: list[int]) -> None:
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    places = [TopicPartition(topic, number, offset) for number, offset in enumerate(offsets)]
    member.commit(offsets=places, asynchronous=False)
    member.close()


# The last records of a topic.


def test_the_last_records_are_shown_in_order_of_time(
    run: Tool, broker: BarnabasProcess, topic: str
) -> None:
    send(broker.bootstrap, topic, [f"v{number}" for number in range(10)])

    done = run("topics", "tail", topic, "-n", "4")

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["v6", "v7", "v8", "v9"]
    assert done.stdout.splitlines()[0].startswith("0:2 ")


def test_records_are_lines_of_json_for_programs(
    run: Tool, broker: BarnabasProcess, topic: str
) -> None:
    send(broker.bootstrap, topic, ["a", "b"])

    lines = run("topics", "tail", topic, "--json").stdout.splitlines()

    assert [json.loads(line)["value"] for line in lines] == ["a", "b"]
    assert json.loads(lines[1]) == {
        "topic": topic,
        "partition": 1,
        "offset": 0,
        "timestamp": 1001,
        "key": None,
        "value": "b",
        "headers": [],
    }


def test_records_before_markers_of_transactions_are_found(
    run: Tool, broker: BarnabasProcess, topic: str
) -> None:
    """Each transaction takes an offset for its marker, which is no record."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for number in range(12):
        producer.begin_transaction()
        producer.produce(topic, f"v{number}", partition=0)
        producer.commit_transaction()

    done = run("topics", "tail", topic, "-n", "10", "--partition", "0")

    assert [line.split()[-1] for line in done.stdout.splitlines()] == [
        f"v{number}" for number in range(2, 12)
    ]


def test_an_empty_topic_shows_nothing_and_a_missing_one_is_guessed(run: Tool, topic: str) -> None:
    assert run("topics", "tail", topic).stdout == ""

    missing = run("topics", "tail", f"{topic}x")
    assert missing.returncode == 1
    assert missing.stderr == (
        f"barnabas topics tail: topic {topic}x does not exist: did you mean {topic}?\n"
    )


def test_following_shows_each_record_once_as_it_arrives(
    broker: BarnabasProcess, topic: str
) -> None:
    send(broker.bootstrap, topic, ["before"])
    follower = Terminal(
        [BIN / "barnabas", "topics", "tail", topic, "-f", "--bootstrap-server", broker.bootstrap],
        env={"NO_COLOR": "1"},
    )
    try:
        follower.read_until(b"before\r\n")
        send(broker.bootstrap, topic, ["after", "later"])
        follower.read_until(b"later\r\n")
        follower.type(CTRL_C)
        follower.read_to_end()
        assert follower.process.returncode == 130
        assert follower.transcript.count(b"before") == 1
        assert follower.transcript.count(b"after") == 1
        assert follower.modes_now() == follower.modes
    finally:
        follower.close()


# How far groups are behind.


def has_left(said: bytes) -> bool:
    """Whether a program gave the screen back at last.

    The terminal may show Ctrl-C after that: it sends the signal first, and the program is quick.
    """
    return said.removesuffix(b"^C").endswith(LEAVE.encode())


def lag(broker: BarnabasProcess, *words: str) -> list[str | Path]:
    return [BIN / "barnabas", "groups", "lag", "--bootstrap-server", broker.bootstrap, *words]


def test_lag_is_counted_over_topics(run: Tool, broker: BarnabasProcess, topic: str) -> None:
    send(broker.bootstrap, topic, ["x"] * 9)
    commit(broker.bootstrap, topic, topic, [1, 1, 3])

    table = run("groups", "lag", "--group", topic)
    (group,) = json.loads(run("groups", "lag", "--group", topic, "--json", "--over", "1").stdout)

    assert (table.returncode, table.stderr) == (0, "")
    heading, line = table.stdout.splitlines()
    assert heading.split() == ["GROUP", "TOPIC", "STATE", "MEMBERS", "PARTITIONS", "LAG"]
    assert line.split() == [topic, topic, "Empty", "0", "3", "4"]
    assert (group["lag"], group["read_per_second"]) == (4, 0.0)
    assert [each["lag"] for each in group["topics"]] == [4]


def test_a_group_that_does_not_exist_is_guessed(
    run: Tool, broker: BarnabasProcess, topic: str
) -> None:
    commit(broker.bootstrap, topic, topic, [0])

    done = run("groups", "lag", "--group", f"{topic}s")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Consumer group '{topic}s' does not exist: did you mean {topic}?\n"


def test_a_live_table_is_redrawn_and_the_terminal_given_back(
    broker: BarnabasProcess, topic: str
) -> None:
    commit(broker.bootstrap, topic, topic, [0, 0, 0])
    watcher = Terminal(
        lag(broker, "--watch", "1", "--group", topic),
        columns=120,
        rows=10,
    )
    try:
        watcher.read_until(ENTER.encode())
        watcher.read_until(b"GROUP")
        send(broker.bootstrap, topic, ["x"] * 30)
        watcher.read_until(b"CAUGHT-UP-IN")
        watcher.read_until(b"  30  ")
        commit(broker.bootstrap, topic, topic, [10, 10, 10])
        watcher.read_until(b"now")
        watcher.type(CTRL_C)
        said = watcher.read_to_end()
        assert watcher.process.returncode == 130
        assert has_left(said)
        assert b"Traceback" not in watcher.transcript
        assert watcher.modes_now() == watcher.modes
    finally:
        watcher.close()


def test_a_live_table_fits_the_window_when_that_changes(
    broker: BarnabasProcess, topic: str
) -> None:
    for suffix in "abcdef":
        commit(broker.bootstrap, f"{topic}-{suffix}", topic, [0])
    groups = [word for suffix in "abcdef" for word in ("--group", f"{topic}-{suffix}")]
    watcher = Terminal(
        lag(broker, "--watch", "3600", *groups),
        columns=120,
        rows=30,
    )
    try:
        watcher.read_until(f"{topic}-f".encode())
        watcher.resize(20, 5)
        watcher.read_until(b"... 5 more lines: ma")
        assert watcher.process.poll() is None
        watcher.process.send_signal(signal.SIGTERM)
        assert has_left(watcher.read_to_end())
        assert watcher.process.returncode == 143
    finally:
        watcher.close()


def test_in_a_pipe_a_table_follows_the_other(broker: BarnabasProcess, topic: str) -> None:
    commit(broker.bootstrap, topic, topic, [0])
    with subprocess.Popen(
        lag(broker, "--watch", "1", "--group", topic),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        lines = [watcher.stdout.readline() for _ in range(8)]
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(60) == 130
        assert watcher.stderr.read() == ""
    assert [line.split(" ")[0] for line in (lines[1], lines[5])] == ["GROUP", "GROUP"]
    assert [lines[3], lines[7]] == ["\n", "\n"]
    assert "\x1b" not in "".join(lines)


# A broker that goes away meanwhile.


def test_a_table_outlives_its_broker(own_broker: BarnabasProcess) -> None:
    send(own_broker.bootstrap, "t", ["x"])
    commit(own_broker.bootstrap, "g", "t", [0])
    watcher = Terminal(
        lag(own_broker, "--watch", "1", "--timeout", "1000"),
        columns=200,
        rows=10,
    )
    try:
        watcher.read_until(b"Empty")
        own_broker.kill()
        watcher.read_until(b"Trying again.")
        own_broker.start(same_port=True)
        watcher.read_until(b"Empty")
        watcher.type(CTRL_C)
        assert has_left(watcher.read_to_end())
        assert watcher.process.returncode == 130
    finally:
        watcher.close()


@pytest.mark.parametrize(
    "command",
    [
        ("kafka-console-consumer", "--topic", "t", "--from-beginning"),
        ("barnabas", "topics", "tail", "t", "-f"),
    ],
    ids=lambda command: command[0],
)
def test_readers_wait_for_a_broker_that_went_away(
    command: tuple[str, ...], own_broker: BarnabasProcess
) -> None:
    send(own_broker.bootstrap, "t", ["before"])
    program, *arguments = command
    reader = Terminal(
        [BIN / program, *arguments, "--bootstrap-server", own_broker.bootstrap],
        env={"NO_COLOR": "1"},
    )
    try:
        reader.read_until(b"before")
        own_broker.kill()
        reader.read_until(b"lost: trying again")
        own_broker.start(same_port=True)
        send(own_broker.bootstrap, "t", ["after"])
        reader.read_until(b"after")
        reader.type(CTRL_C)
        reader.read_to_end()
        assert reader.process.returncode == 130
        assert b"Traceback" not in reader.transcript
    finally:
        reader.close()

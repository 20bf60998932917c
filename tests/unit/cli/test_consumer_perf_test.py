from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.command import CommandError
from barnabas.cli.consumer_perf_test import COMMAND, check, consumer_properties, timeout_ms
from barnabas.cli.main import run_tool
from barnabas.cli.options import Parsed, parse
from barnabas.cli.perf_receiving import Receiver
from barnabas.cli.perf_rows import Received
from barnabas.client.connect import Troubles

Captured = pytest.CaptureFixture[str]


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split())


def test_both_spellings_of_the_number_are_known() -> None:
    assert check(words("--topic t --messages 5")) == 5
    assert check(words("--topic t --num-records 6")) == 6


def test_options_become_settings_of_the_consumer(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("fetch.min.bytes=9\ngroup.id=of-file\nclient.id=mine\n")

    properties = consumer_properties(
        words(
            f"--topic t --messages 1 --consumer.config {file} --group g --from-latest "
            "--fetch-size 5 --socket-buffer-size 6 --bootstrap-server b:1 "
            "--command-property fetch.min.bytes=1"
        )
    )

    assert properties == {
        "bootstrap.servers": "b:1",
        "client.id": "mine",
        "group.id": "g",
        "fetch.min.bytes": "1",
        "max.partition.fetch.bytes": "5",
        "receive.buffer.bytes": "6",
        "auto.offset.reset": "latest",
    }


def test_without_options_settings_are_apache_kafkas() -> None:
    properties = consumer_properties(words("--topic t --messages 1"))

    assert properties.pop("group.id").startswith("perf-consumer-")
    assert properties == {
        "bootstrap.servers": "localhost:9092",
        "client.id": "perf-consumer-client",
        "max.partition.fetch.bytes": "1048576",
        "receive.buffer.bytes": "2097152",
        "auto.offset.reset": "earliest",
    }
    assert timeout_ms(words("--topic t --messages 1")) == 10_000
    assert timeout_ms(words("--topic t --messages 1 --timeout 0")) == 0


def test_options_of_old_notes_are_accepted() -> None:
    line = (
        "--broker-list b:1 --messages 5 --topic t --threads 1 --num-fetch-threads 1 --new-consumer"
    )

    assert check(words(line)) == 5
    assert consumer_properties(words(line))["bootstrap.servers"] == "b:1"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--topic t", "--num-records is missing"),
        ("--messages 5", "exactly one of --topic and --include"),
        ("--messages 5 --topic t --include x", "--topic and --include cannot be used together"),
        ("--messages 5 --num-records 5 --topic t", "cannot be used together"),
        ("--messages some --topic t", '--messages: "some" is not a whole number'),
        ("--messages 5 --topic t --reporting-interval 0", "--reporting-interval: 0 is out of"),
        ("--messages 5 --topic t --date-format yyyy-bb", "--date-format:"),
        ("--messages 5 --topic t --consumer.config /no/file", "cannot read /no/file"),
        ("--messages 5 --topic t --speed", "unknown option --speed"),
    ],
)
def test_a_wrong_command_line_is_one_line(capsys: Captured, line: str, reason: str) -> None:
    status = run_tool("perf", "barnabas.cli.consumer_perf_test", line.split())

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert reason in err


class Fault:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return f"text of {self._name}"


@dataclass
class FakeMessage:
    length: int = 10
    name: bytes | None = None
    fault: Fault | None = None

    def error(self) -> Fault | None:
        return self.fault

    def key(self) -> bytes | None:
        return self.name

    def __len__(self) -> int:
        return self.length


@dataclass
class FakeConsumer:
    """Gives one list of messages after the other, and none at all in the end."""

    batches: list[list[FakeMessage]]
    asked: list[int] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def subscribe(
        self, topics: list[str], on_assign: Callable[..., None], on_revoke: Callable[..., None]
    ) -> None:
        self.topics = topics
        on_assign(self, [])

    def consume(self, count: int, timeout: float) -> Sequence[FakeMessage]:
        self.asked.append(count)
        return self.batches.pop(0) if self.batches else []


def receive(
    batches: list[list[FakeMessage]], wanted: int, intervals: list[tuple[int, int]]
) -> tuple[Received, FakeConsumer]:
    consumer = FakeConsumer(batches)
    fake: Any = consumer
    receiver = Receiver(
        consumer=fake,
        troubles=Troubles("h:1", print),
        topics=["t"],
        wanted=wanted,
        timeout_s=0.0,
        interval_ms=0,
        on_interval=lambda start, end: intervals.append((start.count, end.count)),
        on_progress=lambda count: None,
        check=lambda: None,
    )
    _, end = receiver.run()
    return end, consumer


def test_records_and_their_bytes_are_counted_with_keys() -> None:
    intervals: list[tuple[int, int]] = []
    batches = [[FakeMessage(10, b"abc"), FakeMessage(0)], [FakeMessage(5)]]

    end, consumer = receive(batches, 3, intervals)

    assert (end.count, end.size_bytes) == (3, 18)
    assert consumer.topics == ["t"]
    assert consumer.asked == [3, 1]
    assert intervals == [(0, 2), (2, 3)]


def test_it_gives_up_when_nothing_comes() -> None:
    end, _ = receive([[FakeMessage()]], 100, [])

    assert end.count == 1


def test_errors_that_pass_are_not_records() -> None:
    end, _ = receive([[FakeMessage(fault=Fault("_TRANSPORT")), FakeMessage()]], 1, [])

    assert (end.count, end.size_bytes) == (1, 10)


def test_errors_that_stay_end_the_run() -> None:
    with pytest.raises(CommandError, match="text of TOPIC_AUTHORIZATION_FAILED"):
        receive([[FakeMessage(fault=Fault("TOPIC_AUTHORIZATION_FAILED"))]], 1, [])

"""Which records are the last ones, and how they are shown."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import pytest

from barnabas.cli.tail_rows import (
    as_json,
    as_text,
    first_spans,
    last_records,
    printable,
    time_text,
    wider_spans,
)

A, B = ("a", 0), ("b", 0)


@dataclass(frozen=True)
class Record:
    """As confluent-kafka has them."""

    of_topic: str = "a"
    at: int = 0
    time_ms: int = 0
    a_key: bytes | None = None
    a_value: bytes | None = b"v"
    has_time: bool = True
    some_headers: list[tuple[str, bytes | None]] | None = field(default=None)

    def topic(self) -> str:
        return self.of_topic

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return (1, self.time_ms) if self.has_time else (0, -1)

    def key(self) -> bytes | None:
        return self.a_key

    def value(self) -> bytes | None:
        return self.a_value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.some_headers

    def leader_epoch(self) -> None:
        return None


def test_reading_begins_as_many_offsets_before_the_end_as_records_are_wanted() -> None:
    starts, ends = {A: 0, B: 7, ("empty", 0): 4}, {A: 100, B: 9, ("empty", 0): 4}

    assert first_spans(starts, ends, 10) == {A: (90, 100), B: (7, 9)}
    assert first_spans(starts, ends, 0) == {}


def test_where_offsets_have_no_records_reading_goes_further_back() -> None:
    spans = {A: (90, 100), B: (0, 9)}

    assert wider_spans(spans, {A: 0, B: 0}, {A: [1] * 4, B: []}, 10) == {A: (10, 90)}
    assert wider_spans({A: (10, 90)}, {A: 0}, {A: [1] * 5}, 10) == {A: (0, 10)}
    assert wider_spans({A: (0, 10)}, {A: 0}, {A: [1] * 5}, 10) == {}, "there is no more"
    assert wider_spans(spans, {A: 0, B: 0}, {A: [1] * 10, B: []}, 10) == {}


def test_the_last_records_of_each_topic_are_in_order_of_time() -> None:
    found = {
        ("a", 0): [Record("a", 0, 10), Record("a", 1, 40)],
        ("a", 1): [Record("a", 0, 20), Record("a", 1, 30)],
        ("b", 0): [Record("b", 0, 5), Record("b", 1, 35)],
    }

    last = last_records(found, 2)

    assert [(each.topic(), each.timestamp()[1]) for each in last] == [
        *(("b", 5), ("a", 30), ("b", 35), ("a", 40))
    ]
    assert last_records(found, 0) == []


def test_records_of_a_partition_stay_in_order_whatever_their_times() -> None:
    found = {A: [Record(at=0, time_ms=50), Record(at=1, time_ms=1)]}

    assert [each.offset() for each in last_records(found, 10)] == [0, 1]


def test_a_line_shows_where_when_and_what() -> None:
    line = as_text(with_topic=False, with_colour=False)
    plain = line(Record(at=41, has_time=False)).decode()
    rich = line(
        Record(at=7, a_key=b"k", has_time=False, some_headers=[("h", b"x"), ("n", None)])
    ).decode()

    assert plain.split() == ["3:41", "-", "v"]
    assert rich.endswith("  k => v  [h=x, n=null]\n")
    assert as_text(with_topic=True, with_colour=False)(Record(at=1)).startswith(b"a-3:1 ")


def test_only_a_terminal_gets_colours() -> None:
    assert b"\x1b" in as_text(with_topic=False, with_colour=True)(Record())
    assert b"\x1b" not in as_text(with_topic=False, with_colour=False)(Record())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "null"),
        (b"plain", "plain"),
        ("zażółć".encode(), "zażółć"),
        (b"\xff\x00", "\\xff\\x00"),
        (b"\x1b[2J", "\\x1b[2J"),
        (b"a\nb\tc", "a\\nb\\tc"),
    ],
)
def test_no_record_can_disturb_the_terminal(data: bytes | None, text: str) -> None:
    assert printable(data) == text


def test_json_has_text_as_text_and_the_rest_in_base64() -> None:
    line = as_json(
        Record(at=2, time_ms=99, a_key=b"\xff", a_value=None, some_headers=[("h", b"x")])
    )

    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "topic": "a",
        "partition": 3,
        "offset": 2,
        "timestamp": 99,
        "key_base64": "/w==",
        "value": None,
        "headers": [{"name": "h", "value": "x"}],
    }
    assert json.loads(as_json(Record(has_time=False)))["timestamp"] is None


def test_times_have_milliseconds() -> None:
    assert time_text((1, 86_400_042), time.gmtime) == "1970-01-02 00:00:00.042"
    assert len(time_text((0, -1))) == len("1970-01-02 00:00:00.042")

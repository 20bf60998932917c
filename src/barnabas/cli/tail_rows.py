"""What `barnabas topics tail` shows: which records are the last ones, and their lines.  Pure."""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from barnabas.cli.formatters import Formatter, Headers, HeaderValue, Record

Place = tuple[str, int]
"""A topic and the number of a partition."""

WIDER = 8
"""How many times further back to look where too few records were found."""
DIM, PLAIN = "\x1b[2m", "\x1b[0m"
PLACE_COLUMNS = 8


class TopicRecord(Record, Protocol):
    """A message of confluent-kafka that knows its topic."""

    def topic(self) -> str | None: ...


def first_spans(
    starts: Mapping[Place, int], ends: Mapping[Place, int], count: int
) -> dict[Place, tuple[int, int]]:
    """Offsets in which to look for the last records, from and up to; nothing of what is empty."""
    return {
        place: (max(starts[place], end - count), end)
        for place, end in ends.items()
        if place in starts and end > starts[place] and count > 0
    }


def wider_spans(
    spans: Mapping[Place, tuple[int, int]],
    starts: Mapping[Place, int],
    found: Mapping[Place, Sequence[object]],
    count: int,
) -> dict[Place, tuple[int, int]]:
    """What to read in addition, before what was read: of partitions in which compaction, or the
    markers of transactions, left fewer records than offsets.
    """
    wider = {}
    for place, (first, end) in spans.items():
        if len(found.get(place, ())) < count and first > starts[place]:
            wider[place] = (max(starts[place], first - WIDER * (end - first)), first)
    return wider


def last_records(found: Mapping[Place, Sequence[TopicRecord]], count: int) -> list[TopicRecord]:
    """The last records of each topic, by their time; those of a partition stay in their order."""
    topics: dict[str, list[Sequence[TopicRecord]]] = {}
    for (topic, _), records in sorted(found.items(), key=lambda item: item[0]):
        topics.setdefault(topic, []).append(records)
    last = [_merged(partitions)[-count:] if count else [] for partitions in topics.values()]
    return _merged(last)


def _merged(parts: Iterable[Sequence[TopicRecord]]) -> list[TopicRecord]:
    return list(heapq.merge(*parts, key=lambda record: record.timestamp()[1]))


def as_text(*, with_topic: bool, with_colour: bool) -> Formatter:
    """A line a record: where it is, its time, its key if it has one, its value, its headers."""
    dim, plain = (DIM, PLAIN) if with_colour else ("", "")

    def line(record: Any) -> bytes:
        place = f"{record.partition()}:{record.offset()}"
        if with_topic:
            place = f"{record.topic()}-{place}"
        parts = [f"{dim}{place:<{PLACE_COLUMNS}}  {time_text(record.timestamp())}{plain}"]
        key, value = record.key(), record.value()
        parts.append(
            printable(value)
            if key is None
            else f"{printable(key)} {dim}=>{plain} {printable(value)}"
        )
        headers = header_pairs(record.headers())
        if headers:
            text = ", ".join(f"{name}={printable(each)}" for name, each in headers)
            parts.append(f"{dim}[{text}]{plain}")
        return ("  ".join(parts) + "\n").encode()

    return line


def as_json(record: Any) -> bytes:
    """A line of JSON a record.  Bytes that are no text are given in base64, under another name."""
    kind, time_ms = record.timestamp()
    fields: dict[str, Any] = {
        "topic": record.topic(),
        "partition": record.partition(),
        "offset": record.offset(),
        "timestamp": time_ms if kind else None,
        **_field("key", record.key()),
        **_field("value", record.value()),
        "headers": [
            {"name": name, **_field("value", each)} for name, each in header_pairs(record.headers())
        ],
    }
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode()


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    import base64

    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def header_pairs(headers: Headers | None) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    return [(name, _bytes(value)) for name, value in pairs]


def _bytes(value: HeaderValue) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def printable(data: bytes | None) -> str:
    """As text that cannot disturb a terminal: what is no text, or no printing character, is
    escaped.
    """
    if data is None:
        return "null"
    text = data.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def time_text(
    timestamp: tuple[int, int],
    local: Callable[[float], time.struct_time] = time.localtime,
) -> str:
    """Of this machine's clock; a record without time has a dash as wide."""
    kind, time_ms = timestamp
    if not kind:
        return f"{'-':<23}"
    seconds, rest = divmod(time_ms, 1000)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', local(seconds))}.{rest:03}"

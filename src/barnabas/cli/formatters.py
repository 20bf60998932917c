"""Records as text: what `kafka-console-consumer` prints.  Pure, bytes throughout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from barnabas.cli.common import true_or_false
from barnabas.cli.deserializers import DeserializeError, Deserializer, as_they_are, deserializer
from barnabas.cli.options import UsageError

TIMESTAMP_TYPES = {0: b"NO_TIMESTAMP", 1: b"CreateTime:%d", 2: b"LogAppendTime:%d"}
HeaderValue = str | bytes | None
Headers = dict[str, HeaderValue] | list[tuple[str, HeaderValue]]


class Record(Protocol):
    """A message of confluent-kafka, as far as it is printed."""

    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> Headers | None: ...
    def timestamp(self) -> tuple[int, int]: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def leader_epoch(self) -> int | None: ...


Formatter = Callable[[Record], bytes]
"""The bytes to print for a record; `DeserializeError` if it is not of the declared type."""

SWITCHES = {
    "print.timestamp": "false",
    "print.partition": "false",
    "print.offset": "false",
    "print.delivery": "false",
    "print.epoch": "false",
    "print.headers": "false",
    "print.key": "false",
    "print.value": "true",
}
TEXTS = {
    "key.separator": "\t",
    "line.separator": "\n",
    "headers.separator": ",",
    "null.literal": "null",
}
OFFSETS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
FORMATTERS = ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")
COORDINATORS = {
    "OffsetsMessageFormatter": (OFFSETS, frozenset({0, 1})),
    "GroupMetadataMessageFormatter": (OFFSETS, frozenset({2})),
    "TransactionLogMessageFormatter": (TRANSACTIONS, frozenset({0})),
}
"""Formatters of internal topics: which, and the types of the records that are shown."""
DESERIALIZER_KEYS = ("key.deserializer", "value.deserializer", "headers.deserializer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which parts of a record are printed, and what stands between them."""

    timestamp: bool = False
    partition: bool = False
    offset: bool = False
    delivery: bool = False
    epoch: bool = False
    headers: bool = False
    key: bool = False
    value: bool = True
    separator: bytes = b"\t"
    line_end: bytes = b"\n"
    headers_separator: bytes = b","
    null: bytes = b"null"
    read_key: Deserializer = as_they_are
    read_value: Deserializer = as_they_are
    read_header: Deserializer = as_they_are

    @property
    def is_value_only(self) -> bool:
        return self.value and not (
            self.timestamp
            or self.partition
            or self.offset
            or self.delivery
            or self.epoch
            or self.headers
            or self.key
            or self.read_value is not as_they_are
        )

    def format(self, record: Record) -> bytes:
        parts: list[bytes] = []
        if self.timestamp:
            kind, time_ms = record.timestamp()
            text = TIMESTAMP_TYPES[kind]
            parts.append(text % time_ms if kind else text)
        if self.partition:
            parts.append(b"Partition:%d" % (record.partition() or 0))
        if self.offset:
            parts.append(b"Offset:%d" % (record.offset() or 0))
        if self.delivery:
            parts.append(b"Delivery:NOT_PRESENT")  # only share groups count deliveries
        if self.epoch:
            epoch = record.leader_epoch()
            parts.append(b"Epoch:NOT_PRESENT" if epoch is None else b"Epoch:%d" % epoch)
        if self.headers:
            parts.append(self._headers(record.headers()))
        if self.key:
            parts.append(self._part(record.key(), self.read_key))
        if self.value:
            parts.append(self._part(record.value(), self.read_value))
        return self.separator.join(parts) + self.line_end

    def _headers(self, headers: Headers | None) -> bytes:
        if not headers:
            return b"NO_HEADERS"
        pairs = headers.items() if isinstance(headers, dict) else headers
        return self.headers_separator.join(
            name.encode() + b":" + self._part(_bytes(value), self.read_header)
            for name, value in pairs
        )

    def _part(self, data: bytes | None, read: Deserializer) -> bytes:
        return self.null if data is None else read(data)


def _bytes(value: HeaderValue) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def value_lines(null: bytes, line_end: bytes) -> Formatter:
    """The same as a layout of nothing but the value, in a third of the time."""

    def lines(record: Record) -> bytes:
        value = record.value()
        return (null if value is None else value) + line_end

    return lines


def layout_of(properties: Mapping[str, str], warn: Callable[[str], None]) -> Layout:
    """From the formatter's properties; unknown ones are for formatters of other people's making."""
    for name in properties:
        if not _is_known(name):
            warn(f"formatter property {name} is not known here and is ignored")
    text = SWITCHES | TEXTS | dict(properties)
    readers = {
        key: deserializer(f"--formatter-property {key}", text[key])
        for key in DESERIALIZER_KEYS
        if text.get(key)
    }
    if text.get("header.deserializer"):
        readers["headers.deserializer"] = deserializer(
            "--formatter-property header.deserializer", text["header.deserializer"]
        )
    return Layout(
        timestamp=true_or_false(text, "print.timestamp"),
        partition=true_or_false(text, "print.partition"),
        offset=true_or_false(text, "print.offset"),
        delivery=true_or_false(text, "print.delivery"),
        epoch=true_or_false(text, "print.epoch"),
        headers=true_or_false(text, "print.headers"),
        key=true_or_false(text, "print.key"),
        value=true_or_false(text, "print.value"),
        separator=text["key.separator"].encode(),
        line_end=text["line.separator"].encode(),
        headers_separator=text["headers.separator"].encode(),
        null=text["null.literal"].encode(),
        read_key=readers.get("key.deserializer", as_they_are),
        read_value=readers.get("value.deserializer", as_they_are),
        read_header=readers.get("headers.deserializer", as_they_are),
    )


def _is_known(name: str) -> bool:
    return (
        name in SWITCHES
        or name in TEXTS
        or name.startswith((*DESERIALIZER_KEYS, "header.deserializer"))
    )


def formatter(class_name: str, layout: Layout, log: Callable[[str], None]) -> Formatter:
    """By Java class name, with or without its package and the class around it."""
    default = value_lines(layout.null, layout.line_end) if layout.is_value_only else layout.format
    match class_name.rpartition(".")[2].rpartition("$")[2]:
        case "DefaultMessageFormatter":
            return default
        case "NoOpMessageFormatter":
            return _nothing
        case "LoggingMessageFormatter":
            return _logged(default, log)
        case name if name in COORDINATORS:
            return _coordinator_lines(*COORDINATORS[name])
    listed = ", ".join((*FORMATTERS, *COORDINATORS))
    raise UsageError(f'--formatter: "{class_name}" is not known here; known are {listed}')


def _coordinator_lines(topic: str, numbers: frozenset[int]) -> Formatter:
    """A line of JSON for each record of these types; of others, nothing."""
    from barnabas.cli import dump_log_decoders as decoders
    from barnabas.protocol.errors import DecodeError

    known = decoders.group_types() if topic == OFFSETS else decoders.transaction_types()
    types = {number: known[number] for number in numbers if number in known}

    def line(record: Record) -> bytes:
        if record.key() is None:
            return b""
        try:
            read = decoders.read_coordinator_record(types, record.key(), record.value())
        except decoders.UnknownTypeError:
            return b""
        except DecodeError as error:
            text = f"Could not read record at offset {record.offset()}: {error}"
            raise DeserializeError(text) from None
        value = None if read.value is None else {"version": read.version, "data": read.value}
        shown = {"key": {"type": read.number, "data": read.key}, "value": value}
        return decoders.java_json(shown).encode() + b"\n"

    return line


def _nothing(record: Record) -> bytes:
    return b""


def _logged(default: Formatter, log: Callable[[str], None]) -> Formatter:
    """Prints each record, and notes its key and value beside."""

    def both(record: Record) -> bytes:
        kind, time_ms = record.timestamp()
        stamp = (TIMESTAMP_TYPES[kind] % time_ms).decode() + ", " if kind else ""
        log(f"{stamp}key:{_text(record.key())}, value:{_text(record.value())}")
        return default(record)

    return both


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "replace")

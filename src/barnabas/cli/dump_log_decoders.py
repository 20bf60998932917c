"""What `kafka-dump-log` makes of keys and values: text, or records of an internal topic as JSON.

Pure.  A record that cannot be decoded is shown as such, in its place: one that a later release
wrote must not hide those after it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.cli.deserializers import DESERIALIZERS, Deserializer, deserializer, java_double
from barnabas.cli.options import UsageError
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.json_form import json_form

if TYPE_CHECKING:
    from barnabas.protocol.message import Message
    from barnabas.records.batch import Record

Parsed = tuple[str | None, str | None]
"""Key and value as they are printed; None for what is left out."""
Parser = Callable[["Record"], Parsed]
"""`DeserializeError` if a key or value is not of the declared type."""
Types = Mapping[int, "tuple[type[Message], type[Message]]"]

DELETED = "<DELETE>"
CONSUMER = "consumer"
"""The protocol type of groups whose members are consumers: what they tell each other is known."""
DECODERS = {
    "DefaultDecoder": "BytesDeserializer",
    "StringDecoder": "StringDeserializer",
    "IntegerDecoder": "IntegerDeserializer",
    "LongDecoder": "LongDeserializer",
}
"""Decoders of Apache Kafka, and the deserializers that print the same."""

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_MARK = "\ufffd".encode()
_SHORT = struct.Struct(">h")
_ESCAPES = {
    **{number: f"\\u{number:04X}" for number in range(0x20)},
    **{ord(char): f"\\{char}" for char in '"\\'},
    **{ord(char): f"\\{letter}" for char, letter in zip("\b\t\n\f\r", "btnfr", strict=True)},
}


def java_json(value: Any) -> str:
    """One line of JSON as Java writes it: without blanks, numbers in Java's digits."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return java_double(value)
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case Mapping():
            pairs = (f"{java_json(str(key))}:{java_json(each)}" for key, each in value.items())
            return f"{{{','.join(pairs)}}}"
    return f"[{','.join(map(java_json, value))}]"


def text_parser(key_class: str, value_class: str) -> Parser:
    """Keys and values as these decoders print them."""
    read_key = _as_text(decoder("--key-decoder-class", key_class))
    read_value = _as_text(decoder("--value-decoder-class", value_class))

    def parse(record: Record) -> Parsed:
        _, _, key, value, _, _ = record
        return (
            None if key is None else read_key(key),
            None if value is None else read_value(value),
        )

    return parse


def _as_text(read: Deserializer) -> Callable[[bytes], str]:
    if read is DESERIALIZERS["StringDeserializer"]:  # the usual one, without a detour
        return java_text
    return lambda data: java_text(read(data))


def java_text(data: bytes) -> str:
    """Bytes that need not be text, as Java shows them: half of a surrogate pair is one mark, where
    Python makes a mark of each of its bytes.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_MARK, data).decode("utf-8", "replace")


def decoder(option: str, name: str) -> Deserializer:
    """By the name of a decoder or of a deserializer, with or without its package."""
    short = name.strip().rpartition(".")[2]
    try:
        return deserializer(option, DECODERS.get(short, short))
    except UsageError:
        known = ", ".join(DECODERS)
        raise UsageError(
            f'{option}: "{name}" is not known here; known are {known}, and the deserializers of '
            "kafka-console-consumer"
        ) from None


def group_types() -> Types:
    """The records of `__consumer_offsets`."""
    from barnabas.coordinator.group.records import TYPES
    from barnabas.protocol.messages import share_records as sr

    share = (
        (sr.ShareGroupPartitionMetadataKey, sr.ShareGroupPartitionMetadataValue),
        (sr.ShareGroupMemberMetadataKey, sr.ShareGroupMemberMetadataValue),
        (sr.ShareGroupMetadataKey, sr.ShareGroupMetadataValue),
        (sr.ShareGroupTargetAssignmentMetadataKey, sr.ShareGroupTargetAssignmentMetadataValue),
        (sr.ShareGroupTargetAssignmentMemberKey, sr.ShareGroupTargetAssignmentMemberValue),
        (sr.ShareGroupCurrentMemberAssignmentKey, sr.ShareGroupCurrentMemberAssignmentValue),
        (sr.ShareGroupStatePartitionMetadataKey, sr.ShareGroupStatePartitionMetadataValue),
    )
    return {**TYPES, **{key.min_version: (key, value) for key, value in share}}


def transaction_types() -> Types:
    """The records of `__transaction_state`."""
    from barnabas.coordinator.txn.records import KEY_TYPES

    return KEY_TYPES


def share_state_types() -> Types:
    """The records of `__share_group_state`."""
    from barnabas.protocol.messages import share_records as sr

    return {
        0: (sr.ShareSnapshotKey, sr.ShareSnapshotValue),
        1: (sr.ShareUpdateKey, sr.ShareUpdateValue),
    }


def coordinator_parser(types: Types) -> Parser:
    """Records of a coordinator: the version of a key says what the record is."""

    def parse(record: Record) -> Parsed:
        try:
            return _coordinator_record(types, record)
        except DecodeError as error:
            return f"Error at offset {record.offset}, skipping. {error}", None

    return parse


def _coordinator_record(types: Types, record: Record) -> Parsed:
    try:
        read = read_coordinator_record(types, record.key, record.value)
    except UnknownTypeError as error:
        return f"Unknown record type {error} at offset {record.offset}, skipping.", None
    shown = java_json({"type": str(read.number), "data": read.key})
    if read.value is None:
        return shown, DELETED
    _open_members(read.value)
    return shown, java_json({"version": str(read.version), "data": read.value})


class UnknownTypeError(DecodeError):
    """A record of a type that is not among those that were asked for: its number."""


class CoordinatorRecord(NamedTuple):
    """A record of a coordinator, as JSON has it; one that deletes its key has no value."""

    number: int
    key: dict[str, Any]
    version: int = -1
    value: dict[str, Any] | None = None


def read_coordinator_record(
    types: Types, key: bytes | None, value: bytes | None
) -> CoordinatorRecord:
    """`DecodeError` for what is not a record of a coordinator, `UnknownTypeError` for others."""
    if key is None or len(key) < _SHORT.size:
        raise DecodeError("the record has no key")
    (number,) = _SHORT.unpack_from(key)
    if number not in types:
        raise UnknownTypeError(str(number))
    key_class, value_class = types[number]
    fields = json_form(key_class.decode(key, number, _SHORT.size), number)
    if value is None:
        return CoordinatorRecord(number, fields)
    if len(value) < _SHORT.size:
        raise DecodeError(f"a value of {len(value)} bytes")
    (version,) = _SHORT.unpack_from(value)
    if not value_class.min_version <= version <= value_class.max_version:
        raise DecodeError(f"{value_class.__name__} of version {version} is not known")
    decoded = value_class.decode(value, version, _SHORT.size)
    return CoordinatorRecord(number, fields, version, json_form(decoded, version))


def _open_members(group: dict[str, Any]) -> None:
    """What the members of a classic group of consumers told each other, in place of its bytes."""
    from barnabas.protocol.messages import consumer_protocol as cp

    if group.get("protocolType") != CONSUMER:
        return
    for member in group.get("members", ()):
        for field, cls in (
            ("subscription", cp.ConsumerProtocolSubscription),
            ("assignment", cp.ConsumerProtocolAssignment),
        ):
            member[field] = _opened(member[field], cls)


def _opened(text: str, cls: type[Message]) -> Any:
    import binascii

    data = binascii.a2b_base64(text)
    try:
        (version,) = _SHORT.unpack_from(data)
        if not cls.min_version <= version <= cls.max_version:
            return text
        message, _ = cls.read(data, _SHORT.size, version)
    except (struct.error, DecodeError):
        return text  # somebody's own format: shown as bytes
    return json_form(message, version)


def metadata_parser(record: Record) -> Parsed:
    """Records of the metadata log have no key: their type stands in the value."""
    from barnabas.protocol.messages.metadata_records import METADATA_RECORDS
    from barnabas.protocol.varint import read_uvarint

    data = record.value or b""
    try:
        frame, pos = read_uvarint(data, 0)
        number, pos = read_uvarint(data, pos)
        version, pos = read_uvarint(data, pos)
        cls = METADATA_RECORDS.get(number)
        if frame != 1 or cls is None or not cls.min_version <= version <= cls.max_version:
            raise DecodeError(f"frame {frame}, record type {number}, version {version}: not known")
        fields = json_form(cls.decode(data, version, pos), version)
    except IndexError:
        return None, f"Error at {record.offset}, skipping. The record ends too early."
    except DecodeError as error:
        return None, f"Error at {record.offset}, skipping. {error}"
    return None, java_json({"type": upper_snake(cls.__name__), "version": version, "data": fields})


def upper_snake(name: str) -> str:
    """`TopicRecord` as TOPIC_RECORD."""
    return "".join(f"_{c}" if c.isupper() else c.upper() for c in name).lstrip("_")

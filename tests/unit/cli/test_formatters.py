from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest

from barnabas.cli.deserializers import DeserializeError
from barnabas.cli.formatters import Headers, formatter, layout_of
from barnabas.cli.options import UsageError
from barnabas.protocol.message import Message
from barnabas.protocol.messages import group_records as gr
from barnabas.protocol.messages.transaction_records import TransactionLogKey


@dataclass(slots=True)
class FakeRecord:
    key_: bytes | None = b"k"
    value_: bytes | None = b"v"
    headers_: Headers | None = None
    timestamp_: tuple[int, int] = (1, 1234)
    epoch_: int | None = 3

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return self.headers_

    def timestamp(self) -> tuple[int, int]:
        return self.timestamp_

    def partition(self) -> int | None:
        return 2

    def offset(self) -> int | None:
        return 42

    def leader_epoch(self) -> int | None:
        return self.epoch_


ALL = {
    f"print.{part}": "true"
    for part in ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key")
}


def show(
    record: FakeRecord,
    properties: dict[str, str] | None = None,
    name: str = "DefaultMessageFormatter",
) -> bytes:
    warnings: list[str] = []
    layout = layout_of(properties or {}, warnings.append)
    assert warnings == []
    return formatter(name, layout, print)(record)


def test_a_record_is_its_value_on_a_line() -> None:
    assert show(FakeRecord()) == b"v\n"
    assert show(FakeRecord(value_=None)) == b"null\n"
    assert show(FakeRecord(value_=b"")) == b"\n"
    assert show(FakeRecord(value_=b"\xff\x00")) == b"\xff\x00\n"


def test_everything_in_kafkas_order() -> None:
    record = FakeRecord(headers_=[("a", b"\xff"), ("b", None), ("a", b"")])

    assert show(record, ALL) == (
        b"CreateTime:1234\tPartition:2\tOffset:42\tDelivery:NOT_PRESENT\tEpoch:3"
        b"\ta:\xff,b:null,a:\tk\tv\n"
    )


def test_what_is_not_there_is_said() -> None:
    record = FakeRecord(key_=None, timestamp_=(0, 0), epoch_=None)

    assert show(record, ALL) == (
        b"NO_TIMESTAMP\tPartition:2\tOffset:42\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT"
        b"\tNO_HEADERS\tnull\tv\n"
    )
    assert show(FakeRecord(timestamp_=(2, 5)), {"print.timestamp": "true"}) == (
        b"LogAppendTime:5\tv\n"
    )


def test_separators_and_null_are_a_matter_of_taste() -> None:
    properties = {
        "print.key": "true",
        "print.headers": "true",
        "key.separator": " | ",
        "headers.separator": ";",
        "line.separator": "$",
        "null.literal": "-",
    }
    record = FakeRecord(key_=None, headers_=[("a", None), ("b", b"1")])

    assert show(record, properties) == b"a:-;b:1 | - | v$"
    assert show(FakeRecord(value_=None), {"null.literal": "-", "line.separator": "$"}) == b"-$"


def test_parts_can_be_left_out() -> None:
    assert show(FakeRecord(), {"print.key": "true", "print.value": "false"}) == b"k\n"
    assert show(FakeRecord(), {"print.value": "false"}) == b"\n"
    assert show(FakeRecord(), {"print.key": "yes"}) == b"v\n"


def test_deserializers_apply_to_their_part_and_never_to_null() -> None:
    properties = {
        "print.key": "true",
        "print.headers": "true",
        "key.deserializer": "org.apache.kafka.common.serialization.IntegerDeserializer",
        "value.deserializer": "LongDeserializer",
        "headers.deserializer": "ShortDeserializer",
    }
    record = FakeRecord(
        key_=b"\0\0\0\x07", value_=b"\0\0\0\0\0\0\0\x08", headers_=[("h", b"\0\x09"), ("n", None)]
    )

    assert show(record, properties) == b"h:9,n:null\t7\t8\n"
    assert show(FakeRecord(key_=None, value_=None), properties) == b"NO_HEADERS\tnull\tnull\n"


def test_formatters_go_by_class_name() -> None:
    assert show(FakeRecord(), name="org.apache.kafka.tools.consumer.NoOpMessageFormatter") == b""
    assert show(FakeRecord(), name="kafka.tools.DefaultMessageFormatter") == b"v\n"
    with pytest.raises(UsageError, match=r'^--formatter: "Foo" is not known here'):
        show(FakeRecord(), name="Foo")


def test_the_logging_formatter_notes_what_it_prints() -> None:
    noted: list[str] = []
    made = formatter("LoggingMessageFormatter", layout_of({}, print), noted.append)

    assert made(FakeRecord(key_=None)) == b"v\n"
    assert made(FakeRecord(timestamp_=(0, 0))) == b"v\n"
    assert noted == ["CreateTime:1234, key:null, value:v", "key:k, value:v"]


def test_an_unknown_property_is_worth_a_warning_unless_it_is_a_deserializers_own() -> None:
    warnings: list[str] = []
    layout_of({"print.color": "true", "value.deserializer.encoding": "x"}, warnings.append)
    assert warnings == ["formatter property print.color is not known here and is ignored"]


def packed(version: int, message: Message) -> bytes:
    return struct.pack(">h", version) + message.encode(version)


POSITION = packed(1, gr.OffsetCommitKey(group="g", topic="t", partition=3))


@pytest.mark.parametrize(
    "name",
    [
        "OffsetsMessageFormatter",
        "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
        "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter",
    ],
)
def test_positions_of_groups_are_a_line_of_json_each(name: str) -> None:
    position = gr.OffsetCommitValue(offset=7, leader_epoch=1, metadata="m", commit_timestamp=9)

    assert show(FakeRecord(POSITION, packed(3, position)), name=name) == (
        b'{"key":{"type":1,"data":{"group":"g","topic":"t","partition":3}},'
        b'"value":{"version":3,"data":{"offset":7,"leaderEpoch":1,"metadata":"m",'
        b'"commitTimestamp":9}}}\n'
    )


def test_what_a_coordinator_deleted_is_null() -> None:
    group = FakeRecord(packed(2, gr.GroupMetadataKey(group="g")), None)
    transaction = FakeRecord(packed(0, TransactionLogKey(transactional_id="x")), None)

    assert show(group, name="GroupMetadataMessageFormatter") == (
        b'{"key":{"type":2,"data":{"group":"g"}},"value":null}\n'
    )
    assert show(transaction, name="TransactionLogMessageFormatter") == (
        b'{"key":{"type":0,"data":{"transactionalId":"x"}},"value":null}\n'
    )


def test_records_of_a_coordinator_of_other_types_are_passed_over() -> None:
    assert show(FakeRecord(POSITION), name="GroupMetadataMessageFormatter") == b""
    assert show(FakeRecord(None), name="OffsetsMessageFormatter") == b""


def test_what_no_coordinator_wrote_is_an_error_that_names_the_offset() -> None:
    with pytest.raises(DeserializeError, match="Could not read record at offset 42"):
        show(FakeRecord(POSITION, b"\0\x63"), name="OffsetsMessageFormatter")

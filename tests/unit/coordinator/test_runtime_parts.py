"""Deadlines, records as bytes, and which partition a name belongs to."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.group.records import (
    TYPES,
    OffsetForm,
    OffsetKey,
    group_metadata,
    offset_commit,
)
from barnabas.coordinator.runtime_codec import (
    decode,
    encode,
    encode_records,
    rest_of,
    size_bound,
    split,
)
from barnabas.coordinator.runtime_routing import partition_for
from barnabas.coordinator.runtime_timers import Deadlines
from barnabas.coordinator.runtime_types import CoordinatorRecord, Producer
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitValue,
)
from barnabas.records.batch import Record, crc_is_valid, decode_records, encode_batch, read_header
from barnabas.records.compression import Codec

# Deadlines


def test_deadlines_pass_in_their_order_and_once() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key, when in (("b", 20), ("a", 10), ("c", 30)):
        deadlines.set(key, when)

    assert deadlines.next() == 10
    assert [deadlines.pop(25), deadlines.pop(25), deadlines.pop(25)] == ["a", "b", None]
    assert deadlines.pop(30) == "c"
    assert deadlines.next() is None


def test_a_deadline_that_was_put_off_does_not_pass_early() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.set("a", 50)

    assert deadlines.pop(49) is None
    assert deadlines.pop(50) == "a"


def test_a_deadline_can_be_moved_forward() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 50)
    deadlines.set("a", 10)

    assert deadlines.next() == 10
    assert deadlines.pop(10) == "a"
    assert deadlines.pop(100) is None


def test_a_cancelled_deadline_does_not_pass() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.cancel("a")

    assert "a" not in deadlines
    assert deadlines.pop(100) is None


def test_heartbeats_leave_nothing_behind() -> None:
    deadlines: Deadlines[int] = Deadlines()
    for now in range(10_000):
        deadlines.set(now % 3, now + 1_000)
    for member in range(1_000):
        deadlines.set(member, 5)
        deadlines.cancel(member)

    assert len(deadlines._heap) < 300
    assert len(deadlines) == 0


def test_deadlines_against_a_dictionary() -> None:
    chance = random.Random(7)
    deadlines: Deadlines[int] = Deadlines()
    model: dict[int, int] = {}
    now = 0
    for _ in range(5_000):
        key = chance.randrange(8)
        match chance.randrange(3):
            case 0:
                when = now + chance.randrange(50)
                deadlines.set(key, when)
                model[key] = when
            case 1:
                deadlines.cancel(key)
                model.pop(key, None)
            case _:
                now += chance.randrange(20)
                due = {k for k, when in model.items() if when <= now}
                found = set()
                while (passed := deadlines.pop(now)) is not None:
                    found.add(passed)
                    del model[passed]
                assert found == due
                if model:
                    following = deadlines.next()
                    assert following is not None
                    assert following <= min(model.values())


# Records


def test_an_offset_packed_by_hand_is_what_the_codec_writes() -> None:
    value = OffsetCommitValue(offset=77, leader_epoch=3, metadata="é", commit_timestamp=9)
    record = offset_commit("group", "topic", 4, value)
    plain = CoordinatorRecord(
        key=record.key, key_version=1, value=value, value_version=record.value_version
    )

    assert record.wire is not None
    assert encode(record) == encode(plain)
    assert decode(TYPES, *encode(record)) == plain


@given(st.text(max_size=200), st.integers(-1, 2**63 - 1), st.integers(-1, 2**31 - 1))
def test_a_form_that_is_filled_in_is_the_same_record(
    metadata: str, offset: int, leader_epoch: int
) -> None:
    value = OffsetCommitValue(
        offset=offset, leader_epoch=leader_epoch, metadata=metadata, commit_timestamp=9
    )
    wire = encode(offset_commit("group", "topic", 4, value))
    form = OffsetForm(OffsetKey("group", "topic", 4), metadata)

    assert form.filled(offset, leader_epoch, 9) == rest_of(wire)
    assert form.size_bytes == size_bound(wire)


def test_an_offset_with_its_own_expiry_is_written_in_the_version_that_has_one() -> None:
    record = offset_commit("g", "t", 0, OffsetCommitValue(offset=1, expire_timestamp=99))

    assert record.value_version == 1
    assert decode(TYPES, *encode(record)) == record


def test_a_record_starts_with_its_versions() -> None:
    record = group_metadata("g", GroupMetadataValue(protocol_type="consumer"))
    key, value = encode(record)

    assert key == bytes.fromhex("0002 0001 67")
    assert value is not None
    assert value[:2] == bytes.fromhex("0003")


def test_a_tombstone_has_a_key_and_nothing_else() -> None:
    record = group_metadata("g", None)

    assert encode(record) == (bytes.fromhex("0002 0001 67"), None)
    assert decode(TYPES, *encode(record)) == record


def test_a_value_of_a_later_version_is_read_as_our_latest() -> None:
    value = GroupMetadataValue(protocol_type="consumer", generation=3)
    later = b"\0\x09" + value.encode(4)

    found = decode(TYPES, bytes.fromhex("0002 0001 67"), later)

    assert found is not None
    assert found.value == value


@pytest.mark.parametrize("key", [None, b"", b"\0"])
def test_a_record_without_a_key_is_none(key: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode(TYPES, key, None)


def test_an_unknown_type_is_not_decoded() -> None:
    assert decode(TYPES, b"\0\x63", b"\0\0") is None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("producer", [None, Producer(5, 2)])
def test_a_batch_is_what_the_records_room_would_write(
    codec: Codec, producer: Producer | None
) -> None:
    records = [
        offset_commit("g", "t" * n, n, OffsetCommitValue(offset=n, metadata="m" * n * 70))
        for n in range(1, 9)
    ]
    records.append(group_metadata("g", None))

    batch = encode_records(records, now_ms=1_234, producer=producer, codec=codec)

    plain = [
        Record(timestamp=1_234, key=key, value=value)
        for key, value in (encode(record) for record in records)
    ]
    assert batch == encode_batch(
        plain,
        codec=codec,
        producer_id=-1 if producer is None else 5,
        producer_epoch=-1 if producer is None else 2,
        transactional=producer is not None,
    )
    assert crc_is_valid(batch, read_header(batch))
    assert [r.key for r in decode_records(batch)] == [r.key for r in plain]


def test_a_record_that_fits_no_batch_stands_alone() -> None:
    big = group_metadata("g" * 500, None)
    small = group_metadata("g", None)

    runs = list(split([small, small, big, small], max_batch_bytes=200))

    assert runs == [[small, small], [big], [small]]
    assert isinstance(runs[1][0].key, GroupMetadataKey)


# Routing


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        # From Java's own hash, of which Apache Kafka takes the absolute value.
        ("", 0),
        ("g", 3),
        ("my-group", 12),
        ("connect-cluster", 13),
        ("polygenelubricants", 0),  # its hash is the one number without a positive counterpart
        ("\U0001f600", 49),
    ],
)
def test_names_belong_where_apache_kafka_puts_them(name: str, partition: int) -> None:
    assert partition_for(name, 50) == partition

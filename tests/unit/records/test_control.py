"""Control records."""

from __future__ import annotations

import pytest

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import Record, decode_records, read_header
from barnabas.records.control import (
    ControlType,
    EndTxnMarker,
    control_key,
    control_type,
    encode_end_txn_marker,
    end_txn_marker,
)


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_a_marker_says_who_ended_which_transaction(kind: ControlType) -> None:
    batch = encode_end_txn_marker(
        EndTxnMarker(kind, 12),
        producer_id=77,
        producer_epoch=3,
        timestamp=1000,
        base_offset=9,
        leader_epoch=4,
    )

    header = read_header(batch)
    (record,) = decode_records(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, -1)
    assert (header.base_offset, header.leader_epoch) == (9, 4)
    assert record.key == bytes([0, 0, 0, kind])
    assert record.value == bytes.fromhex("0000 0000000c")
    assert end_txn_marker(record) == (kind, 12)


def test_every_control_type_is_readable_and_new_ones_are_unknown() -> None:
    for kind in ControlType:
        assert control_type(control_key(kind)) is kind
    assert control_type(bytes.fromhex("0000 0063")) is ControlType.UNKNOWN
    assert control_type(bytes.fromhex("0001 0001 ff")) is ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", bytes.fromhex("ffff 0000")])
def test_a_malformed_key_is_invalid(key: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        control_type(key)


@pytest.mark.parametrize(
    "record",
    [
        Record(key=control_key(ControlType.LEADER_CHANGE), value=bytes(6)),
        Record(key=control_key(ControlType.COMMIT), value=None),
        Record(key=control_key(ControlType.COMMIT), value=bytes(5)),
        Record(key=control_key(ControlType.COMMIT), value=b"\xff\xff" + bytes(4)),
    ],
)
def test_a_malformed_marker_is_invalid(record: Record) -> None:
    with pytest.raises(InvalidRecord):
        end_txn_marker(record)

"""Control records: written by brokers and controllers, never shown to applications.

The key of each is a version and a type (int16 each); what the value holds depends on the type.
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import NO_LEADER_EPOCH, Record, encode_batch

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")


class ControlType(enum.IntEnum):
    """What a control record says.  A type from a later version than ours reads as UNKNOWN."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6

    @property
    def ends_transaction(self) -> bool:
        return self is ControlType.ABORT or self is ControlType.COMMIT


class EndTxnMarker(NamedTuple):
    """A transaction's end in one partition."""

    control_type: ControlType
    coordinator_epoch: int


def control_key(control_type: ControlType) -> bytes:
    return _KEY.pack(0, control_type)


def control_type(key: bytes | None) -> ControlType:
    """The type in a control record's key."""
    if key is None or len(key) < _KEY.size:
        raise InvalidRecord("A control record's key is too short.")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecord(f"A control record's key has version {version}.")
    try:
        return ControlType(number)
    except ValueError:
        return ControlType.UNKNOWN


def end_txn_marker(record: Record) -> EndTxnMarker:
    """What a COMMIT or ABORT record says."""
    kind = control_type(record.key)
    if not kind.ends_transaction:
        raise InvalidRecord(f"A {kind.name} record does not end a transaction.")
    if record.value is None or len(record.value) < _MARKER.size:
        raise InvalidRecord("A transaction marker's value is too short.")
    version, coordinator_epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise InvalidRecord(f"A transaction marker has version {version}.")
    return EndTxnMarker(kind, coordinator_epoch)


def encode_end_txn_marker(
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """The batch, of one record and without a sequence number, that ends a transaction."""
    assert marker.control_type.ends_transaction
    record = Record(
        timestamp=timestamp,
        key=control_key(marker.control_type),
        value=_MARKER.pack(0, marker.coordinator_epoch),
    )
    return encode_batch(
        [record],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )

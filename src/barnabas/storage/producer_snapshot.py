"""`<offset>.snapshot`: the producers of a log as of an offset.

Version (int16, 1), CRC32C of what follows (uint32), number of entries (int32), then 46 bytes each:
producer id (int64), epoch (int16), last sequence (int32), last offset (int64), offset delta
(int32), timestamp (int64), coordinator epoch (int32), first offset of the open transaction or -1
(int64).

Only the last batch of a producer is kept.  A snapshot is written at every roll, for the first
offset of the new segment, and at a clean stop.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from barnabas.records.crc import crc32c
from barnabas.storage.producer_state import AppendedBatch, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = 1
_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_COVERS_FROM = 6
assert _HEAD.size == 10
assert _ENTRY.size == 46


def encode(entries: Iterable[ProducerEntry]) -> bytes:
    packed = []
    for entry in entries:
        last = entry.batches[-1] if entry.batches else AppendedBatch(-1, -1, 0, -1)
        packed.append(
            _ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.transaction_start,
            )
        )
    body = struct.pack(">i", len(packed)) + b"".join(packed)
    return struct.pack(">hI", _VERSION, crc32c(body, 0)) + body


def decode(data: bytes) -> list[ProducerEntry] | None:
    """The producers on file, or None if the file is damaged."""
    if len(data) < _HEAD.size:
        return None
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION or crc != crc32c(data[_CRC_COVERS_FROM:], 0):
        return None
    if count < 0 or len(data) != _HEAD.size + count * _ENTRY.size:
        return None
    entries = []
    for fields in _ENTRY.iter_unpack(data[_HEAD.size :]):
        entry = ProducerEntry(fields[0])
        entry.producer_epoch = fields[1]
        sequence, last_offset, offset_delta = fields[2:5]
        entry.last_timestamp = fields[5]
        entry.coordinator_epoch = fields[6]
        entry.transaction_start = max(fields[7], -1)
        if last_offset >= 0:
            entry.batches = (
                AppendedBatch(sequence, last_offset, offset_delta, entry.last_timestamp),
            )
        entries.append(entry)
    return entries

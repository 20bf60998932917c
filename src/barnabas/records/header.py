"""The header of a record batch, format version 2; the records follow it, maybe compressed.

    offset  size  field
         0     8  base_offset              of the first record; assigned by the leader
         8     4  batch_length             of everything after this field
        12     4  leader_epoch             of the leader that appended it
        16     1  magic                    2
        17     4  crc                      CRC32C of everything after this field
        21     2  attributes               bits 0-2 codec, 3 log append time, 4 transactional,
                                           5 control, 6 base_timestamp is a delete horizon
        23     4  last_offset_delta
        27     8  base_timestamp           record timestamps are relative to it
        35     8  max_timestamp
        43     8  producer_id              -1 if the producer is not idempotent
        51     2  producer_epoch
        53     4  base_sequence
        57     4  count                    of records

Everything is read in place.  The first three fields are not under the CRC, so that a leader can
assign offset and epoch without touching the rest.  Compaction removes records but leaves
`base_offset` and `last_offset_delta` alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage
from barnabas.records.compression import Buffer, Codec
from barnabas.records.crc import crc32c

HEADER_SIZE = 61
LOG_OVERHEAD = 12
"""Bytes before those that `batch_length` counts."""
MAGIC = 2
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

MAX_SEQUENCE = 0x7FFF_FFFF
_CRC_POSITION = 17
CRC_START = 21
LOW_ATTRIBUTES = 22
"""Where the byte stands that has all attributes: for those who look at nothing else."""
HEADER = struct.Struct(">qiibIhiqqqhii")
assert HEADER.size == HEADER_SIZE
_unpack = HEADER.unpack_from
_SIZE = struct.Struct(">i")
_OFFSET = struct.Struct(">q")
_EPOCH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_TIMESTAMP = struct.Struct(">q")
_new_tuple = tuple.__new__


class BatchHeader(NamedTuple):
    """The header as it stands in the batch; nothing of it is checked."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which no header needs

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size_bytes(self) -> int:
        """Of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def codec(self) -> Codec:
        number = self.attributes & CODEC_MASK
        if number > Codec.ZSTD:
            raise CorruptMessage(f"Unknown compression codec {number}.")
        return Codec(number)

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; numbers wrap around to 0.  -1 if there are none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return add_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def delete_horizon(self) -> int | None:
        """When compaction may drop this batch's tombstones or marker; None if not yet decided."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def add_sequence(sequence: int, increment: int) -> int:
    """Sequence numbers count from 0 to 2**31-1 and then from 0 again."""
    return (sequence + increment) & MAX_SEQUENCE


def read_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header at `pos`; the caller knows that HEADER_SIZE bytes are there."""
    return _new_tuple(BatchHeader, _unpack(buf, pos))


def iter_headers(buf: Buffer, pos: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch in `buf`; an incomplete one at the end is left out.

    CorruptMessage if what stands there cannot be a batch of this format, whatever follows.
    """
    end = len(buf)
    while end - pos >= HEADER_SIZE:
        header = _new_tuple(BatchHeader, _unpack(buf, pos))
        check_framing(header)
        size = header.batch_length + LOG_OVERHEAD
        if size > end - pos:
            return
        yield pos, header
        pos += size


def check_framing(header: BatchHeader) -> None:
    """CorruptMessage unless `header` can be that of a batch; says nothing about its content."""
    if header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
        raise CorruptMessage(
            f"A batch of {header.batch_length} bytes at offset {header.base_offset} is smaller "
            "than its header."
        )
    if header.magic != MAGIC:
        raise CorruptMessage(f"Unknown magic {header.magic} at offset {header.base_offset}.")
    if header.last_offset_delta < 0 or header.count < 0:
        raise CorruptMessage(
            f"The batch at offset {header.base_offset} says that it has {header.count} records "
            f"and a last offset delta of {header.last_offset_delta}."
        )


def batch_crc(batch: Buffer) -> int:
    """What the CRC field of `batch` (exactly one batch) ought to be."""
    return crc32c(memoryview(batch)[CRC_START:], 0)


def crc_is_valid(batch: Buffer, header: BatchHeader) -> bool:
    """`batch` starts with the batch of `header`, in full."""
    return crc32c(memoryview(batch)[CRC_START : header.size_bytes], 0) == header.crc


def set_offset_and_epoch(
    buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int
) -> None:
    """Assign, in place, what is not under the CRC."""
    _OFFSET.pack_into(buf, pos, base_offset)
    _EPOCH.pack_into(buf, pos + 12, leader_epoch)


def set_crc(buf: bytearray | memoryview, crc: int) -> None:
    """Set, in place, the CRC of the batch at the start of `buf`."""
    _CRC.pack_into(buf, _CRC_POSITION, crc)


def set_max_timestamp(
    buf: bytearray | memoryview, pos: int, timestamp: int, *, log_append_time: bool
) -> None:
    """Set, in place, the greatest timestamp and what kind it is, and then the CRC.

    With log append time every record of the batch has this timestamp, whatever it says itself.
    """
    (size,) = _SIZE.unpack_from(buf, pos + 8)
    (attributes,) = _ATTRIBUTES.unpack_from(buf, pos + 21)
    attributes = attributes | LOG_APPEND_TIME if log_append_time else attributes & ~LOG_APPEND_TIME
    _ATTRIBUTES.pack_into(buf, pos + 21, attributes)
    _TIMESTAMP.pack_into(buf, pos + 35, timestamp)
    view = memoryview(buf)
    _CRC.pack_into(
        buf, pos + _CRC_POSITION, crc32c(view[pos + CRC_START : pos + LOG_OVERHEAD + size], 0)
    )

"""Coordinator records as bytes.

Key and value each start with their version (int16).  What a version of a key means depends on the
topic: for groups it is the type of the record, for transactions there is only one.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from barnabas.coordinator.runtime_types import CoordinatorRecord, Producer
from barnabas.protocol.errors import DecodeError
from barnabas.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    batch_crc,
    build_batch,
    decode_records,
    put_varint,
    read_header,
)
from barnabas.records.compression import Buffer, Codec
from barnabas.records.control import ControlType, control_type
from barnabas.records.header import HEADER, set_crc

if TYPE_CHECKING:
    from barnabas.coordinator.runtime_types import Shard
    from barnabas.protocol.message import Message

log = logging.getLogger(__name__)

KeyTypes: TypeAlias = "Mapping[int, tuple[type[Message], type[Message]]]"
"""By version of the key: the classes of key and value."""

_VERSION = struct.Struct(">h")
RECORD_OVERHEAD = 24
"""More than the varints of a record, and what comes before its key, take."""


def encode(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value of `record`."""
    if record.wire is not None:
        return record.wire
    key = _VERSION.pack(record.key_version) + record.key.encode(record.key_version)
    if record.value is None:
        return key, None
    return key, _VERSION.pack(record.value_version) + record.value.encode(record.value_version)


def decode(types: KeyTypes, key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """The record, or None if it is of a type that a later release brought.

    A value of a later version than ours is read as our latest if that fits.  DecodeError if the
    bytes are not a record of that type.
    """
    if key is None or len(key) < 2:
        raise DecodeError("a coordinator record without a key")
    (key_version,) = _VERSION.unpack_from(key)
    known = types.get(key_version)
    if known is None:
        return None
    key_class, value_class = known
    decoded = key_class.decode(key, key_version, 2)
    if value is None:
        return CoordinatorRecord(key=decoded, key_version=key_version, value=None)
    if len(value) < 2:
        raise DecodeError("a coordinator record with a value of one byte")
    (version,) = _VERSION.unpack_from(value)
    version = min(version, value_class.max_version)
    return CoordinatorRecord(
        key=decoded,
        key_version=key_version,
        value=value_class.decode(value, version, 2),
        value_version=version,
    )


def encode_records(
    records: Iterable[CoordinatorRecord],
    *,
    now_ms: int,
    producer: Producer | None = None,
    codec: Codec = Codec.NONE,
) -> bytearray:
    """One batch of `records`."""
    builder = BatchBuilder(now_ms, producer)
    for record in records:
        builder.add(encode(record), now_ms)
    return builder.finish(codec)


class BatchBuilder:
    """A batch that grows, without sequence numbers: the coordinator is not a client.

    Records have no headers and mostly the same timestamp, so most of each is known beforehand.
    """

    __slots__ = ("_batch", "_first_ms", "_latest_ms", "count", "producer", "size_bytes")

    def __init__(self, now_ms: int, producer: Producer | None = None) -> None:
        self.count = 0
        self.producer = producer
        self._batch = bytearray(HEADER_SIZE)
        self._first_ms = self._latest_ms = now_ms
        self.size_bytes = HEADER_SIZE
        """Of the batch as it is, before compression."""

    def add(self, wire: tuple[bytes, bytes | None], now_ms: int) -> None:
        """Add a record of this key and value."""
        self.add_rest(rest_of(wire), now_ms)

    def add_rest(self, rest: bytes, now_ms: int) -> None:
        """Add a record: attributes, timestamp delta, offset delta, and `rest` of it."""
        age = b"\0\0"
        if now_ms != self._first_ms:
            age = b"\0" + _varint(now_ms - self._first_ms)
            self._latest_ms = max(self._latest_ms, now_ms)
        head = age + _varint(self.count)
        self._batch += _varint(len(head) + len(rest)) + head + rest
        self.size_bytes = len(self._batch)
        self.count += 1

    def finish(self, codec: Codec = Codec.NONE) -> bytearray:
        """The batch; the builder is of no use any more."""
        assert self.count, "a batch has at least one record"
        batch = self._batch
        if codec is not Codec.NONE:
            return build_batch(BatchHeader(*self._header(0, codec)), bytes(batch[HEADER_SIZE:]))
        HEADER.pack_into(batch, 0, *self._header(len(batch) - LOG_OVERHEAD, codec))
        set_crc(batch, batch_crc(batch))
        return batch

    def _header(self, length: int, codec: Codec) -> tuple[int, ...]:
        """The fields of `BatchHeader`, in their order."""
        producer_id, producer_epoch = self.producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        return (
            0,  # base offset, given by the leader
            length,
            NO_LEADER_EPOCH,
            MAGIC,
            0,  # the CRC, set at last
            codec if self.producer is None else codec | TRANSACTIONAL,
            self.count - 1,
            self._first_ms,
            self._latest_ms,
            producer_id,
            producer_epoch,
            NO_SEQUENCE,
            self.count,
        )


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    out = bytearray()
    put_varint(out, number)
    return bytes(out)


def rest_of(wire: tuple[bytes, bytes | None]) -> bytes:
    """What of a record does not depend on its place in a batch: key, value, no headers."""
    key, value = wire
    if value is None:
        return b"".join((_varint(len(key)), key, b"\1\0"))
    return b"".join((_varint(len(key)), key, _varint(len(value)), value, b"\0"))


def value_at(rest: bytes, value: bytes) -> int:
    """Where the value stands in what `rest_of` has made: before the last byte, the headers'."""
    return len(rest) - 1 - len(value)


def size_bound(wire: tuple[bytes, bytes | None]) -> int:
    """At least the bytes that a record takes in a batch."""
    key, value = wire
    return len(key) + (0 if value is None else len(value)) + RECORD_OVERHEAD


def split(
    records: Sequence[CoordinatorRecord], *, max_batch_bytes: int
) -> Iterator[list[CoordinatorRecord]]:
    """Runs of `records` that fit into a batch; a single record that does not stands alone."""
    run: list[CoordinatorRecord] = []
    size = HEADER_SIZE
    for record in records:
        needed = size_bound(encode(record))
        if run and size + needed > max_batch_bytes:
            yield run
            run, size = [], HEADER_SIZE
        run.append(record)
        size += needed
    if run:
        yield run


def replay_batch(shard: Shard, batch: Buffer, types: KeyTypes) -> None:
    """Replay a batch of the log.  What is not a record of one of `types` is passed over."""
    header = read_header(batch)
    producer = None
    if header.is_transactional:
        producer = Producer(header.producer_id, header.producer_epoch)
    for plain in decode_records(batch, header):
        if header.is_control:
            kind = control_type(plain.key)
            if kind.ends_transaction:
                assert producer is not None, "a marker belongs to a producer"
                shard.replay_end_txn(producer, committed=kind is ControlType.COMMIT)
            continue
        try:
            record = decode(types, plain.key, plain.value)
        except DecodeError as error:
            log.warning("offset %d holds no coordinator record: %s", plain.offset, error)
            continue
        if record is not None:
            shard.replay(record, producer=producer)

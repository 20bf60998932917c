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
_RECORD_OVERHEAD = 24
"""More than the varints of a record take."""


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
    """One batch of `records`, without sequence numbers: the coordinator is not a client.

    All records have the same timestamp and no headers, so most of each is known beforehand.
    """
    parts = [_plain_record(delta, *encode(record)) for delta, record in enumerate(records)]
    assert parts, "a batch has at least one record"
    if codec is not Codec.NONE:
        header = BatchHeader(*_header(parts, now_ms, producer, codec=codec))
        return build_batch(header, b"".join(parts))
    batch = bytearray(HEADER_SIZE)
    batch += b"".join(parts)
    length = len(batch) - LOG_OVERHEAD
    HEADER.pack_into(batch, 0, *_header(parts, now_ms, producer, length=length))
    set_crc(batch, batch_crc(batch))
    return batch


def _header(
    parts: Sequence[bytes],
    now_ms: int,
    producer: Producer | None,
    *,
    length: int = 0,
    codec: Codec = Codec.NONE,
) -> tuple[int, ...]:
    """The fields of `BatchHeader`, in their order."""
    producer_id, producer_epoch = producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    return (
        0,  # base offset, given by the leader
        length,
        NO_LEADER_EPOCH,
        MAGIC,
        0,  # the CRC, set at last
        codec if producer is None else codec | TRANSACTIONAL,
        len(parts) - 1,
        now_ms,
        now_ms,
        producer_id,
        producer_epoch,
        NO_SEQUENCE,
        len(parts),
    )


def _plain_record(delta: int, key: bytes, value: bytes | None) -> bytes:
    """One record: attributes, timestamp delta, offset delta, key, value, no headers."""
    if value is None:
        content = b"\0\0" + _varint(delta) + _varint(len(key)) + key + b"\1\0"
    else:
        lengths = _varint(delta) + _varint(len(key)) + key + _varint(len(value))
        content = b"\0\0" + lengths + value + b"\0"
    return _varint(len(content)) + content


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    out = bytearray()
    put_varint(out, number)
    return bytes(out)


def split(
    records: Sequence[CoordinatorRecord], *, max_batch_bytes: int
) -> Iterator[list[CoordinatorRecord]]:
    """Runs of `records` that fit into a batch; a single record that does not stands alone."""
    run: list[CoordinatorRecord] = []
    size = HEADER_SIZE
    for record in records:
        key, value = encode(record)
        needed = len(key) + len(value or b"") + _RECORD_OVERHEAD
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

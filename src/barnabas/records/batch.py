"""Records in batches: decoding and encoding.  The header's own fields are in `header.py`.

A record is: length (varint), attributes (a byte, unused), timestamp delta (varlong), offset delta
(varint), key and value (varint length or -1, bytes), number of headers (varint), and for each
header key and value like those of the record.  All varints are zigzag encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage, InvalidRecord, UnsupportedForMessageFormat
from barnabas.records.compression import DEFAULT_MAX_SIZE, Buffer, Codec, compress, decompress
from barnabas.records.header import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    MAX_SEQUENCE,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    add_sequence,
    batch_crc,
    check_framing,
    crc_is_valid,
    iter_headers,
    read_header,
    set_max_timestamp,
    set_offset_and_epoch,
)

__all__ = [
    "CODEC_MASK",
    "CONTROL",
    "DELETE_HORIZON",
    "HEADER_SIZE",
    "LOG_APPEND_TIME",
    "LOG_OVERHEAD",
    "MAGIC",
    "NO_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "TRANSACTIONAL",
    "BatchHeader",
    "Record",
    "add_sequence",
    "batch_crc",
    "build_batch",
    "check_framing",
    "crc_is_valid",
    "decode_body",
    "decode_records",
    "encode_batch",
    "encode_record",
    "iter_headers",
    "put_varint",
    "read_header",
    "read_varint",
    "record_body",
    "set_max_timestamp",
    "set_offset_and_epoch",
]

_new_tuple = tuple.__new__


class Record(NamedTuple):
    """One record.  Built without an offset, it gets the next free one of the batch."""

    offset: int = -1
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    sequence: int = NO_SEQUENCE


def record_body(batch: Buffer, header: BatchHeader, *, max_size: int = DEFAULT_MAX_SIZE) -> bytes:
    """A decompressed copy of what follows the header of `batch`."""
    body = memoryview(batch)[HEADER_SIZE : header.size_bytes]
    if header.attributes & CODEC_MASK:
        return bytes(decompress(header.codec, body, max_size=max_size))
    return bytes(body)


def decode_records(
    batch: Buffer, header: BatchHeader | None = None, *, max_size: int = DEFAULT_MAX_SIZE
) -> Iterator[Record]:
    """The records of `batch` (exactly one batch, CRC not checked), one after the other.

    CorruptMessage if they do not decompress to at most `max_size` bytes, InvalidRecord if what is
    inside is malformed, does not fill the batch exactly or is not as many as the header says.
    """
    if header is None:
        if len(batch) < HEADER_SIZE:
            raise CorruptMessage(f"A batch of {len(batch)} bytes is smaller than its header.")
        header = read_header(batch)
    if header.magic != MAGIC:
        raise UnsupportedForMessageFormat(f"Records of format {header.magic} cannot be read.")
    return decode_body(record_body(batch, header, max_size=max_size), header)


def decode_body(  # noqa: PLR0912 (a call per number would halve its speed)
    data: bytes, header: BatchHeader
) -> Iterator[Record]:
    """The records in what `record_body` gave for the batch of `header`.

    Short varints are read inline.  Lengths need no check of their own: none is negative and each
    only moves `pos` forward, so a wrong one ends beyond the data (IndexError) or makes the record
    end elsewhere than its length says.
    """
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    base_sequence = header.base_sequence
    new = _new_tuple
    pos = 0
    try:
        for _ in range(header.count):
            n = data[pos]
            pos += 1
            if n > 127:
                if (more := data[pos]) < 128:
                    n += (more - 1) << 7
                    pos += 1
                else:
                    n, pos = read_varint(data, pos - 1)
            if n & 1:
                raise InvalidRecord("A record's length is negative.")
            end = pos + (n >> 1)
            pos += 1  # attributes: no bit has a meaning yet
            t = data[pos]
            pos += 1
            if t > 127:
                if (more := data[pos]) < 128:
                    t += (more - 1) << 7
                    pos += 1
                else:
                    t, pos = read_varint(data, pos - 1, 10)
            d = data[pos]
            pos += 1
            if d > 127:
                if (more := data[pos]) < 128:
                    d += (more - 1) << 7
                    pos += 1
                else:
                    d, pos = read_varint(data, pos - 1)
            n = data[pos]
            pos += 1
            if n > 127:
                n, pos = read_varint(data, pos - 1)
            key = None if n & 1 else data[pos : (pos := pos + (n >> 1))]
            n = data[pos]
            pos += 1
            if n > 127:
                if (more := data[pos]) < 128:
                    n += (more - 1) << 7
                    pos += 1
                else:
                    n, pos = read_varint(data, pos - 1)
            value = None if n & 1 else data[pos : (pos := pos + (n >> 1))]
            headers: Sequence[tuple[str, bytes | None]] = ()
            if data[pos]:
                headers, pos = _decode_headers(data, pos)
            else:
                pos += 1
            if pos != end:
                raise InvalidRecord("A record's length is not that of its content.")
            delta = d >> 1 if not d & 1 else ~(d >> 1)
            yield new(
                Record,
                (
                    base_offset + delta,
                    append_time
                    if append_time is not None
                    else base_timestamp + (t >> 1 if not t & 1 else ~(t >> 1)),
                    key,
                    value,
                    headers,
                    NO_SEQUENCE if base_sequence < 0 else (base_sequence + delta) & MAX_SEQUENCE,
                ),
            )
    except IndexError:
        raise InvalidRecord("A record ends beyond its batch.") from None
    if pos != len(data):
        raise InvalidRecord(
            f"{len(data) - pos} bytes are left after the {header.count} records of the batch."
        )


def _decode_headers(data: bytes, pos: int) -> tuple[Sequence[tuple[str, bytes | None]], int]:
    count, pos = read_varint(data, pos)
    if count & 1:
        raise InvalidRecord("A record has a negative number of headers.")
    if count >> 1 > len(data) - pos:
        raise InvalidRecord("A record has more headers than it can hold.")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count >> 1):
        n, pos = read_varint(data, pos)
        if n & 1:
            raise InvalidRecord("A header's key has a negative length.")
        key = data[pos : (pos := pos + (n >> 1))].decode("utf-8", "surrogateescape")
        n, pos = read_varint(data, pos)
        value = None if n & 1 else data[pos : (pos := pos + (n >> 1))]
        headers.append((key, value))
    return headers, pos


def read_varint(data: bytes, pos: int, longest: int = 5) -> tuple[int, int]:
    """(value before zigzag decoding, next position); IndexError where `data` ends."""
    value = data[pos]
    if value < 128:
        return value, pos + 1
    pos += 1
    value &= 0x7F
    shift = 7
    for _ in range(longest - 1):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, pos
        shift += 7
    raise InvalidRecord(f"A number of more than {longest} bytes.")


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = NO_LEADER_EPOCH,
    log_append_time: int | None = None,
) -> bytearray:
    """A batch of `records`, at least one, in a buffer that may be patched.

    A record's offset is absolute and not below `base_offset`, or -1 for the one after its
    predecessor.  Its own sequence number is not used: numbers follow from `base_sequence`.
    """
    parts: list[bytes] = []
    base_timestamp = max_timestamp = NO_TIMESTAMP
    delta = -1
    for record in records:
        following = delta + 1 if record.offset < 0 else record.offset - base_offset
        assert following > delta, "offsets rise within a batch"
        delta = following
        if not parts:
            base_timestamp = max_timestamp = record.timestamp
        elif record.timestamp > max_timestamp:
            max_timestamp = record.timestamp
        parts.append(encode_record(record, record.timestamp - base_timestamp, delta))
    assert parts, "a batch has at least one record"
    if log_append_time is not None:
        max_timestamp = log_append_time
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=codec
        | (LOG_APPEND_TIME if log_append_time is not None else 0)
        | (TRANSACTIONAL if transactional else 0)
        | (CONTROL if control else 0),
        last_offset_delta=delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=len(parts),
    )
    return build_batch(header, b"".join(parts), level=level)


def build_batch(header: BatchHeader, body: Buffer, *, level: int | None = None) -> bytearray:
    """The batch of `header` around already encoded records, compressed as its attributes say.

    Length and CRC are those of the content; what `header` says about them is not used.
    """
    if header.attributes & CODEC_MASK and body:
        body = compress(header.codec, body, level)
    size = HEADER_SIZE + len(body)
    batch = bytearray(size)
    batch[HEADER_SIZE:] = body
    fields = header._replace(batch_length=size - LOG_OVERHEAD, crc=0)
    HEADER.pack_into(batch, 0, *fields)
    HEADER.pack_into(batch, 0, *fields._replace(crc=batch_crc(batch)))
    return batch


def encode_record(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    """One record with its length in front."""
    out = bytearray(1)
    put_varint(out, timestamp_delta)
    put_varint(out, offset_delta)
    _put_bytes(out, record.key)
    _put_bytes(out, record.value)
    put_varint(out, len(record.headers))
    for key, value in record.headers:
        _put_bytes(out, key.encode("utf-8", "surrogateescape"))
        _put_bytes(out, value)
    length = bytearray()
    put_varint(length, len(out))
    return bytes(length + out)


def _put_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)
        return
    put_varint(out, len(data))
    out += data


def put_varint(out: bytearray, value: int) -> None:
    unsigned = value << 1 if value >= 0 else ~(value << 1)
    while unsigned > 127:
        out.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    out.append(unsigned)

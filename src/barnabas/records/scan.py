"""Records as spans of bytes: what compaction needs to choose among them and to copy them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.base.errors import InvalidRecord
from barnabas.records.batch import put_varint, read_varint
from barnabas.records.header import BatchHeader

_new_tuple = tuple.__new__


class RecordSpan(NamedTuple):
    """`body[start:end]` is one record, its length included; `body[rest:end]` what follows its
    timestamp."""

    start: int
    rest: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    has_value: bool


def scan_body(body: bytes, header: BatchHeader) -> Iterator[RecordSpan]:
    """The records in what `record_body` gave for the batch of `header`.

    InvalidRecord if they are malformed as far as they are read: headers are not.
    """
    pos = 0
    size = len(body)
    new = _new_tuple
    try:
        for _ in range(header.count):
            start = pos
            n = body[pos]
            pos += 1
            if n > 127:
                if (more := body[pos]) < 128:
                    n += (more - 1) << 7
                    pos += 1
                else:
                    n, pos = read_varint(body, start)
            end = pos + (n >> 1)
            if n & 1 or end > size:
                raise InvalidRecord("A record's length is not that of its content.")
            t = body[pos + 1]
            pos += 2
            if t > 127:
                t, pos = read_varint(body, pos - 1, 10)
            rest = pos
            d = body[pos]
            pos += 1
            if d > 127:
                if (more := body[pos]) < 128:
                    d += (more - 1) << 7
                    pos += 1
                else:
                    d, pos = read_varint(body, rest)
            n = body[pos]
            pos += 1
            if n > 127:
                n, pos = read_varint(body, pos - 1)
            key = None if n & 1 else body[pos : (pos := pos + (n >> 1))]
            n = body[pos]
            pos += 1
            if n > 127:
                n, pos = read_varint(body, pos - 1)
            if n & 1:
                has_value = False
            else:
                has_value = True
                pos += n >> 1
            if pos >= end:
                raise InvalidRecord("A record's length is not that of its content.")
            yield new(
                RecordSpan,
                (
                    start,
                    rest,
                    end,
                    ~(t >> 1) if t & 1 else t >> 1,
                    ~(d >> 1) if d & 1 else d >> 1,
                    key,
                    has_value,
                ),
            )
            pos = end
    except IndexError:
        raise InvalidRecord("A record ends beyond its batch.") from None
    if pos != size:
        raise InvalidRecord(
            f"{size - pos} bytes are left after the {header.count} records of the batch."
        )


def retimed(body: bytes, span: RecordSpan, timestamp_delta: int) -> bytes:
    """The record of `span` with another timestamp delta."""
    _, attributes = read_varint(body, span.start)
    after_length = bytearray(body[attributes : attributes + 1])
    put_varint(after_length, timestamp_delta)
    after_length += body[span.rest : span.end]
    record = bytearray()
    put_varint(record, len(after_length))
    return bytes(record + after_length)

"""Fetched batches as Arrow record batches, many records at a time.

A record has fields of varying length, one behind the other, so that each field of *all* records is
read in one step with numpy, once the beginnings of the records are known; finding those is the only
loop over records.  Nothing is believed before its CRC, and whatever is out of place afterwards is
an error, never a wrong row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.pipelines.fetching import Fetched
from barnabas.pipelines.offsets import OffsetRange
from barnabas.pipelines.vectors import (
    HEADERS,
    Int64s,
    header_column,
    pieces,
    read_fields,
    read_varints,
)
from barnabas.pipelines.walking import record_starts
from barnabas.records.batch import decode_records
from barnabas.records.compression import Buffer, decompress
from barnabas.records.control import ControlType, control_type
from barnabas.records.header import CODEC_MASK, HEADER_SIZE, BatchHeader, crc_is_valid

GROUP_BYTES = 16 * 1024 * 1024
"""About as many bytes of records become one Arrow batch."""
SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
    ]
)
SCHEMA_WITH_HEADERS = SCHEMA.append(pa.field("headers", HEADERS))


@dataclass(frozen=True, slots=True)
class Bodies:
    """Records of some batches, decompressed, in one buffer."""

    data: memoryview | bytes
    headers: list[BatchHeader]
    starts: list[int]
    ends: list[int]


def decode(
    fetched: Fetched, span: OffsetRange, *, with_headers: bool = False, check_crcs: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of what a fetch brought that are in the range.

    `CorruptMessage` or `InvalidRecord` if a batch is not what it should be.
    """
    chosen = [
        (at, header)
        for at, header in readable(fetched)
        if header.next_offset > fetched.position and header.base_offset < span.end and header.count
    ]
    if check_crcs:
        view = memoryview(fetched.records)
        for at, header in chosen:
            if not crc_is_valid(view[at : at + header.size_bytes], header):
                raise CorruptMessage(
                    f"{span.topic}-{span.partition}: the batch at offset {header.base_offset} has "
                    "another checksum than its content."
                )
    for bodies in _bodies(fetched.records, chosen):
        rows = _rows(bodies, max(fetched.position, span.start), span, with_headers)
        if rows is not None:
            yield rows


def readable(fetched: Fetched) -> Iterator[tuple[int, BatchHeader]]:
    """The batches without control batches, nor those of aborted transactions.

    A producer's records are left out from the beginning of its aborted transaction to the marker
    that ends it; the answer to a fetch names every one that reaches into it.
    """
    ahead = sorted(fetched.aborted, key=lambda each: each[1], reverse=True)
    aborting: set[int] = set()
    for at, header in fetched.batches:
        while ahead and ahead[-1][1] <= header.last_offset:
            aborting.add(ahead.pop()[0])
        if header.is_control:
            if header.producer_id in aborting and _is_abort(fetched.records, at, header):
                aborting.remove(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            yield at, header


def _is_abort(records: memoryview | bytes, at: int, header: BatchHeader) -> bool:
    batch = memoryview(records)[at : at + header.size_bytes]
    return any(
        control_type(record.key) is ControlType.ABORT for record in decode_records(batch, header)
    )


def _bodies(
    records: memoryview | bytes, chosen: Iterable[tuple[int, BatchHeader]]
) -> Iterator[Bodies]:
    """Runs of batches.  Those that are not compressed are read where they were received."""
    for codec, run in groupby(chosen, key=lambda each: each[1].attributes & CODEC_MASK):
        if codec:
            yield from _inflated(memoryview(records), run)
            continue
        batches = list(run)
        yield Bodies(
            data=records,
            headers=[header for _, header in batches],
            starts=[at + HEADER_SIZE for at, _ in batches],
            ends=[at + header.size_bytes for at, header in batches],
        )


def _inflated(records: memoryview, run: Iterable[tuple[int, BatchHeader]]) -> Iterator[Bodies]:
    parts: list[Buffer] = []
    headers: list[BatchHeader] = []
    edges = [0]
    for at, header in run:
        part = decompress(header.codec, records[at + HEADER_SIZE : at + header.size_bytes])
        parts.append(part)
        headers.append(header)
        edges.append(edges[-1] + len(part))
        if edges[-1] >= GROUP_BYTES:
            yield Bodies(b"".join(parts), headers, edges[:-1], edges[1:])
            parts, headers, edges = [], [], [0]
    if parts:
        yield Bodies(b"".join(parts), headers, edges[:-1], edges[1:])


def _rows(
    bodies: Bodies, first: int, span: OffsetRange, with_headers: bool
) -> pa.RecordBatch | None:
    """All fields of all records; then the columns of those with offsets from `first` on."""
    headers = bodies.headers
    counts = [header.count for header in headers]
    data = np.frombuffer(bodies.data, np.uint8)
    begins, ends = record_starts(bodies.data, bodies.starts, bodies.ends, counts)
    try:
        timestamp_deltas, at = read_varints(data, begins + 1)  # an attribute byte is before it
        offset_deltas, at = read_varints(data, at)
        no_keys, key_begins, key_ends = read_fields(data, at, ends)
        no_values, value_begins, value_ends = read_fields(data, key_ends, ends)
    except IndexError:
        raise InvalidRecord("A record ends beyond its batch.") from None
    offsets = np.repeat(_each(headers, "base_offset"), counts) + offset_deltas
    times = np.repeat(_each(headers, "base_timestamp"), counts) + timestamp_deltas
    kinds = np.repeat([int(header.is_log_append_time) for header in headers], counts)
    if kinds.any():
        times = np.where(kinds, np.repeat(_each(headers, "max_timestamp"), counts), times)
    edges = np.stack((key_begins, key_ends, value_begins, value_ends), axis=1).astype(np.int32)
    if headers[0].base_offset < first or headers[-1].last_offset >= span.end:
        kept = np.flatnonzero((offsets >= first) & (offsets < span.end))
        offsets, times, kinds = offsets[kept], times[kept], kinds[kept]
        edges, ends = edges[kept], ends[kept]
        no_keys, no_values = no_keys[kept], no_values[kept]
    count = len(offsets)
    if not count:
        return None
    columns = [
        pieces(data, edges, 0, no_keys),
        pieces(data, edges, 2, no_values),
        pa.repeat(pa.scalar(span.topic, pa.string()), count),
        pa.repeat(pa.scalar(span.partition, pa.int32()), count),
        pa.array(offsets),
        pa.array(times * 1000).cast(SCHEMA.field("timestamp").type),
        pa.array(kinds.astype(np.int32)),
    ]
    if not with_headers:
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    columns.append(header_column(data, edges[:, 3].astype(np.int64), ends))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA_WITH_HEADERS)


def _each(headers: list[BatchHeader], name: str) -> Int64s:
    return np.array([getattr(header, name) for header in headers], np.int64)

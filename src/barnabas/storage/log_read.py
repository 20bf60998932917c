"""Finding things in a log: slices for fetches, offsets by time, aborted transactions.

Only written bytes are looked at; what is queued is not there yet.  Loop thread only.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from barnabas.records.batch import decode_records
from barnabas.storage.fs import FileSlice

if TYPE_CHECKING:
    from barnabas.records.batch import BatchHeader
    from barnabas.storage.segment import Segment
    from barnabas.storage.segments import Segments
    from barnabas.storage.txn_index import AbortedTransaction

_marker = attrgetter("last_offset")


class FoundOffset(NamedTuple):
    """A record found by its timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


class ReadHint(NamedTuple):
    """Where the batch that starts at `offset` is, or will be: the end of an earlier read."""

    offset: int
    segment: Segment
    position: int


def read_slice(
    segments: Segments,
    offset: int,
    *,
    max_bytes: int,
    end_offset: int,
    written_end_offset: int,
    at_least_one: bool,
    hint: ReadHint | None,
) -> tuple[FileSlice, ReadHint | None]:
    """Whole and half batches from the one that holds `offset`, all of them below `end_offset`.

    With the slice comes a hint for whoever reads on from `end_offset`.
    """
    end_offset = min(end_offset, written_end_offset)
    if offset >= end_offset:
        return FileSlice(segments.active.file, 0, 0), hint
    number = max(0, segments.number_at(offset))
    while True:
        segment = segments[number]
        following = segments[number + 1].base_offset if number + 1 < len(segments) else None
        is_cut = end_offset < (written_end_offset if following is None else following)
        limit = _position_of(segment, end_offset, hint) if is_cut else segment.file.size
        size = -1
        if hint is not None and hint.offset == offset and hint.segment is segment:
            found = hint.position
            break
        place = segment.locate(offset, limit)
        if place is not None:
            found, size = place
            break
        if following is None or following >= end_offset:
            return FileSlice(segment.file, limit, 0), hint
        number += 1  # the batches that would hold `offset` were compacted away
    length = limit - found
    if length > max_bytes:
        if size < 0:
            size = first_batch_size(segment, found)
        if size <= max_bytes:
            size = max_bytes
        elif not at_least_one:
            size = 0
        length = size
    elif following is None or is_cut:
        hint = ReadHint(end_offset, segment, limit)
    return FileSlice(segment.file, found, length), hint


def first_batch_size(segment: Segment, position: int) -> int:
    length = segment.file.read(position + 8, 4)
    return int.from_bytes(length, "big", signed=True) + 12


def _position_of(segment: Segment, offset: int, hint: ReadHint | None) -> int:
    """Where a batch that starts at `offset` or after begins."""
    if hint is not None and hint.offset == offset and hint.segment is segment:
        return hint.position
    place = segment.locate(offset, segment.file.size)
    return segment.file.size if place is None else place[0]


def find_by_time(segments: Segments, timestamp: int, start_offset: int) -> FoundOffset | None:
    """The first record at or after `start_offset` whose timestamp is not below `timestamp`."""
    for segment in segments.from_offset(start_offset):
        segment.know_timestamps()
        if segment.max_timestamp >= timestamp:
            found = _find_in_segment(segment, timestamp, start_offset)
            if found is not None:
                return found
    return None


def _find_in_segment(segment: Segment, timestamp: int, start_offset: int) -> FoundOffset | None:
    oldest = max(segment.times.floor(timestamp), start_offset - segment.base_offset, 0)
    for position, header in segment.headers(segment.index.floor(oldest)):
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        for record in decode_records(segment.read_batch(position, header), header):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return FoundOffset(record.offset, record.timestamp, header.leader_epoch)
    return None


def find_max_timestamp(segments: Segments) -> FoundOffset | None:
    """The first record that has the greatest timestamp of all; None if there is no record."""
    best: Segment | None = None
    for segment in segments:
        segment.know_timestamps()
        if segment.size_bytes and (best is None or segment.max_timestamp > best.max_timestamp):
            best = segment
    if best is None:
        return None
    place = best.locate(best.max_timestamp_offset, best.file.size)
    for position, header in best.headers(place[0]) if place else ():
        return _first_with_max(best, position, header)
    return None


def _first_with_max(segment: Segment, position: int, header: BatchHeader) -> FoundOffset | None:
    if header.is_log_append_time:
        return FoundOffset(header.base_offset, header.max_timestamp, header.leader_epoch)
    records = list(decode_records(segment.read_batch(position, header), header))
    if not records:
        return None
    best = max(records, key=lambda record: record.timestamp)  # the first of equals
    return FoundOffset(best.offset, best.timestamp, header.leader_epoch)


def end_of_slice(segments: Segments, found: FileSlice, offset: int, end_offset: int) -> int:
    """An offset, `end_offset` at most, that all batches in `found` are below.

    `found` is what `read_slice` gave for `offset`.  Not much is between: an index entry's worth.
    """
    for segment in segments.from_offset(offset):
        if segment.file is found.file:
            end_offset = min(end_offset, segments.next_base(segment, end_offset))
            after = segment.index.offset_from(found.position + found.length)
            return end_offset if after is None else min(end_offset, segment.base_offset + after)
    return end_offset


def aborted_transactions(segments: Segments, start: int, end: int) -> list[AbortedTransaction]:
    """Aborted transactions with records in [start, end), in order of their markers."""
    found: list[AbortedTransaction] = []
    for segment in segments.from_offset(start):
        aborted = segment.aborted()
        for at in range(bisect_left(aborted, start, key=_marker), len(aborted)):
            entry = aborted[at]
            if entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found
    return found

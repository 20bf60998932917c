"""The side files of a segment for `kafka-dump-log`: offset, time and transaction index, producers.

Each index is held against the log beside it; what does not fit is noted in `Findings`.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from barnabas.cli.dump_log_files import (
    Batch,
    DamagedError,
    Findings,
    Wishes,
    batches,
    headers,
    records_of,
)
from barnabas.cli.dump_log_lines import aborted_line, producer_line
from barnabas.records.crc import crc32c
from barnabas.records.header import NO_TIMESTAMP
from barnabas.storage import producer_snapshot, txn_index
from barnabas.storage.segment_files import INDEX, LOG, TIME_INDEX

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
SNAPSHOT_HEAD = struct.Struct(">hI")
"""Version and checksum of what follows."""
ENTRIES_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class Segment:
    """The segment that a file belongs to, by the file's name."""

    directory: str
    stem: str

    @classmethod
    def of(cls, path: str) -> Segment:
        directory, name = os.path.split(os.path.abspath(path))
        stem = name.partition(".")[0]
        if not (stem.isascii() and stem.isdigit()):
            raise DamagedError(f'its name does not begin with an offset: "{name}"')
        return cls(directory, stem)

    @property
    def base_offset(self) -> int:
        return int(self.stem)

    def path(self, suffix: str) -> str:
        return os.path.join(self.directory, f"{self.stem}{suffix}")

    def open(self, suffix: str) -> BinaryIO:
        try:
            return open(self.path(suffix), "rb")
        except OSError as error:
            raise DamagedError(f"cannot read {self.path(suffix)}: {error.strerror}") from None


def _entries(file: BinaryIO, layout: struct.Struct) -> Iterator[tuple[int, int]]:
    """Up to the zeros of a file whose room was set aside; half an entry at its end is left out."""
    number = 0
    while data := file.read(layout.size * ENTRIES_AT_ONCE):
        whole = len(data) - len(data) % layout.size
        for first, second in layout.iter_unpack(data[:whole]):
            relative = second if layout is TIME_ENTRY else first
            if number and relative == 0:
                return
            yield first, second
            number += 1


def sanity_line(path: str) -> str:
    """What a broker looks at when it starts; `DamagedError` if it would build the index anew."""
    base_offset = Segment.of(path).base_offset
    layout = TIME_ENTRY if path.endswith(TIME_INDEX) else OFFSET_ENTRY
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        count = size // layout.size
        if not count and layout is OFFSET_ENTRY:
            return f"{path} is empty."
        if count:
            first = layout.unpack(file.read(layout.size))
            file.seek((count - 1) * layout.size)
            last = layout.unpack(file.read(layout.size))
            relative = last[1] if layout is TIME_ENTRY else last[0]
            if relative < 0:
                raise DamagedError(
                    f"the last offset is {base_offset + relative}, less than the base offset "
                    f"{base_offset}"
                )
            if layout is TIME_ENTRY and last[0] < first[0]:
                raise DamagedError(
                    f"the last timestamp is {last[0]}, less than the first, {first[0]}"
                )
    if size % layout.size:
        raise DamagedError(f"{size} bytes, not a multiple of {layout.size}")
    return f"{path} passed sanity check."


def offset_index_lines(path: str, wishes: Wishes, findings: Findings) -> Iterator[str]:
    """Each entry, with the last offset of the batch that it points to looked at."""
    segment = Segment.of(path)
    if os.path.getsize(path) < OFFSET_ENTRY.size:
        yield f"{path} is empty."
        return
    with segment.open(LOG) as log, open(path, "rb") as file:
        size = os.fstat(log.fileno()).st_size
        for relative, position in _entries(file, OFFSET_ENTRY):
            offset = segment.base_offset + relative
            end = min(size, position + wishes.max_message_size)
            _, header = next(headers(log, position, end), (0, None))
            if header is None:
                raise DamagedError(
                    f"no batch is at position {position}, where offset {offset} ought be"
                )
            if header.last_offset != offset:
                noted = findings.index_mismatches.setdefault(os.path.abspath(path), {})
                noted[offset] = header.last_offset
            if not wishes.verify_only:
                yield f"offset: {offset} position: {position}"


def time_index_lines(path: str, wishes: Wishes, findings: Findings) -> Iterator[str]:
    """Each entry, with the greatest timestamp of the batch that it names looked at."""
    segment = Segment.of(path)
    name = os.path.abspath(path)
    with segment.open(INDEX) as index:
        places = list(_entries(index, OFFSET_ENTRY))
    with segment.open(LOG) as log, open(path, "rb") as file:
        before = NO_TIMESTAMP
        for timestamp, relative in _entries(file, TIME_ENTRY):
            offset = segment.base_offset + relative
            at = bisect_right(places, relative, key=lambda place: place[0])
            batch = _batch_of(log, offset, places[at - 1][1] if at else 0)
            if batch is None or batch.header.last_offset != offset:
                found = -1 if batch is None else batch.header.last_offset
                findings.not_found.setdefault(name, []).append((offset, found))
            else:
                latest = max((each.timestamp for each in records_of(batch)), default=NO_TIMESTAMP)
                if latest != timestamp:
                    findings.time_mismatches.setdefault(name, []).append((timestamp, latest))
                if before >= timestamp:
                    findings.out_of_order.setdefault(name, []).append((timestamp, before))
            if not wishes.verify_only:
                yield f"timestamp: {timestamp} offset: {offset}"
            before = timestamp


def _batch_of(log: BinaryIO, offset: int, position: int) -> Batch | None:
    """The first batch from a position on that reaches an offset, in full."""
    size = os.fstat(log.fileno()).st_size
    for start, header in headers(log, position, size):
        if header.last_offset >= offset:
            return next(batches(log, start, size, whole=True), None)
    return None


def txn_index_lines(path: str) -> Iterator[str]:
    segment = Segment.of(path)
    with open(path, "rb") as file:
        entries = txn_index.decode(file.read(), segment.base_offset)
    if entries is None:
        raise DamagedError("its entries are of an unknown version, or not in order")
    yield from map(aborted_line, entries)


def snapshot_lines(path: str) -> Iterator[str]:
    with open(path, "rb") as file:
        data = file.read()
    entries = producer_snapshot.decode(data)
    if entries is None:
        raise DamagedError(_why_no_snapshot(data))
    yield from map(producer_line, entries)


def _why_no_snapshot(data: bytes) -> str:
    if len(data) < SNAPSHOT_HEAD.size:
        return f"a snapshot of {len(data)} bytes"
    version, stored = SNAPSHOT_HEAD.unpack_from(data)
    if version != 1:
        return f"Snapshot contained an unknown file version {version}"
    computed = crc32c(data[SNAPSHOT_HEAD.size :], 0)
    return (
        "Snapshot is corrupt (CRC is no longer valid). "
        f"Stored crc: {stored}. Computed crc: {computed}"
    )

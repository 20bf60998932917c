"""A segment that compaction writes, on its worker thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.storage import txn_index
from barnabas.storage.index import MAX_RELATIVE_OFFSET, OffsetIndex, TimeIndex
from barnabas.storage.log_trim import CleanedSegment
from barnabas.storage.segment_files import (
    CLEANED,
    INDEX,
    LOG,
    SEGMENT_SUFFIXES,
    TIME_INDEX,
    TXN_INDEX,
    segment_path,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.records.header import BatchHeader
    from barnabas.storage.fs import Buffer, FilePool
    from barnabas.storage.txn_index import AbortedTransaction

_WRITE_BYTES = 1 << 20


class CleanedWriter:
    """Writes `<base>.log.cleaned` and its indexes; a crash before `finish` leaves what recovery
    removes.  Durable after `finish`."""

    def __init__(
        self, pool: FilePool, directory: str, base_offset: int, *, index_interval_bytes: int
    ) -> None:
        self.base_offset = base_offset
        self.size_bytes = 0
        self._pool = pool
        self._directory = directory
        self._interval = index_interval_bytes
        self._since_index = 0
        self._index = OffsetIndex()
        self._times = TimeIndex()
        self._max_timestamp = -1
        self._max_timestamp_offset = base_offset
        self._parts: list[Buffer] = []
        self._waiting = 0
        self._file = pool.open_private(self._path(LOG), create=True)

    def _path(self, kind: str) -> str:
        return segment_path(self._directory, self.base_offset, kind) + CLEANED

    def has_room_for(self, header: BatchHeader, size: int, limit: int) -> bool:
        return (
            self.size_bytes + size <= limit
            and header.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
        ) or not self.size_bytes

    def add(self, header: BatchHeader, batch: Buffer) -> None:
        """Append a batch; `header` is its own.  `batch` must not change before `finish`."""
        size = len(batch)
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
            self._max_timestamp_offset = header.last_offset
        if self._since_index > self._interval:
            self._index.add(header.last_offset - self.base_offset, self.size_bytes)
            self._times.add(self._max_timestamp, self._max_timestamp_offset - self.base_offset)
            self._since_index = 0
        self._since_index += size
        self.size_bytes += size
        self._parts.append(batch)
        self._waiting += size
        if self._waiting >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        self._file.write(self.size_bytes - self._waiting, self._parts)
        self._parts.clear()
        self._waiting = 0

    def finish(self, aborted: Sequence[AbortedTransaction], modified_ms: int) -> CleanedSegment:
        """Make everything durable.  `aborted`: transactions whose marker is in this segment.

        `modified_ms`: as of the segments that it replaces; retention may go by it.
        """
        self._write()
        self._times.add(self._max_timestamp, self._max_timestamp_offset - self.base_offset)
        self._pool.write_bytes(self._path(INDEX), self._index.encode())
        self._pool.write_bytes(self._path(TIME_INDEX), self._times.encode())
        if aborted:
            data = b"".join(map(txn_index.encode, aborted))
            self._pool.write_bytes(self._path(TXN_INDEX), data)
        self._file.sync()
        self._file.close()
        for kind in SEGMENT_SUFFIXES[1:]:
            self._pool.sync_path(self._path(kind))
        self._pool.sync_directory(self._directory)
        return CleanedSegment(
            base_offset=self.base_offset, size_bytes=self.size_bytes, modified_ms=modified_ms
        )

    def discard(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        remove_cleaned(self._pool, self._directory, self.base_offset)


def remove_cleaned(pool: FilePool, directory: str, base_offset: int) -> None:
    for kind in SEGMENT_SUFFIXES:
        pool.remove(segment_path(directory, base_offset, kind) + CLEANED)

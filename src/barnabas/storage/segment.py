"""One run of a partition's log: `<base offset>.log`, its indexes and its aborted transactions."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, BatchHeader, read_header
from barnabas.storage import txn_index
from barnabas.storage.index import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    IndexCache,
    OffsetIndex,
    TimeIndex,
)
from barnabas.storage.segment_files import (
    CLEANED,
    INDEX,
    LOG,
    PLACE,
    SEGMENT_SUFFIXES,
    SMALLEST_LENGTH,
    TIME_INDEX,
    TXN_INDEX,
    WINDOW,
    scan_headers,
    segment_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.storage.fs import FilePool
    from barnabas.storage.txn_index import AbortedTransaction

__all__ = [
    "CLEANED",
    "INDEX",
    "LOG",
    "SEGMENT_SUFFIXES",
    "TIME_INDEX",
    "TXN_INDEX",
    "Segment",
    "segment_path",
]

UNKNOWN = -2
"""A timestamp that was not looked up yet."""
_place = PLACE.unpack_from
_logger = logging.getLogger(__name__)


class Segment:
    """A segment.  Loop thread only; bytes below `file.size` never change, so slices need no lock.

    `size_bytes` counts queued batches too.  Indexes are kept in memory and saved when the segment
    is closed; a closed segment loads them when asked and may lose them to the cache's bound.  An
    index file that is missing or wrong is made again from the log.
    """

    __slots__ = (
        "_aborted",
        "_cache",
        "_index",
        "_pool",
        "_suffix",
        "_times",
        "aborted_saved",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "file",
        "first_timestamp",
        "index_interval",
        "is_closed",
        "max_timestamp",
        "max_timestamp_offset",
        "size_bytes",
    )

    def __init__(
        self,
        pool: FilePool,
        cache: IndexCache,
        directory: str,
        base_offset: int,
        *,
        size_bytes: int = 0,
        index_interval: int = 4096,
        created_ms: int = 0,
        has_aborted: bool = False,
    ) -> None:
        """A segment that is there, with `size_bytes` of whole batches; see `create`."""
        self._pool = pool
        self._cache = cache
        self._suffix = ""
        self.directory = directory
        self.base_offset = base_offset
        self.file = pool.file(segment_path(directory, base_offset, LOG), size_bytes)
        self.size_bytes = size_bytes
        self.index_interval = index_interval
        self.bytes_since_index = 0
        self.is_closed = False
        self.created_ms = created_ms
        self.first_timestamp = UNKNOWN if size_bytes else -1
        self.max_timestamp = UNKNOWN if size_bytes else -1
        self.max_timestamp_offset = base_offset
        self._index: OffsetIndex | None = None
        self._times: TimeIndex | None = None
        self._aborted: list[AbortedTransaction] | None = None if has_aborted else []
        self.aborted_saved = 0

    @classmethod
    def create(
        cls,
        pool: FilePool,
        cache: IndexCache,
        directory: str,
        base_offset: int,
        *,
        index_interval: int,
        now_ms: int,
    ) -> Segment:
        """A new, empty segment; files of that name are emptied."""
        segment = cls(
            pool,
            cache,
            directory,
            base_offset,
            index_interval=index_interval,
            created_ms=now_ms,
        )
        segment.file.create()
        segment.start_indexes()
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.file.path!r}, size_bytes={self.size_bytes})"

    def path(self, suffix: str) -> str:
        return segment_path(self.directory, self.base_offset, suffix) + self._suffix

    # Appending: bookkeeping only, the log queues and writes the bytes.

    def add(self, last_offset: int, size: int, timestamp: int) -> None:
        """Note a batch at the end."""
        position = self.size_bytes
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        if self.bytes_since_index > self.index_interval:
            assert self._index is not None
            assert self._times is not None
            self._index.add(last_offset - self.base_offset, position)
            self._times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self.bytes_since_index = size
        else:
            self.bytes_since_index += size
            if position == 0:
                self.first_timestamp = timestamp
        self.size_bytes = position + size

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        self.aborted().append(transaction)

    @property
    def has_unsaved_aborted(self) -> bool:
        return self._aborted is not None and self.aborted_saved < len(self._aborted)

    def save_aborted(self) -> None:
        """Append to the file what it lacks."""
        if self.has_unsaved_aborted:
            aborted = self.aborted()
            data = b"".join(map(txn_index.encode, aborted[self.aborted_saved :]))
            position = self.aborted_saved * txn_index.ENTRY_BYTES
            self._pool.write_bytes(self.path(TXN_INDEX), data, position=position)
            self.aborted_saved = len(aborted)

    def mark(self) -> tuple[int, ...]:
        """All that `add` changes, for `go_back_to`."""
        return (
            self.size_bytes,
            self.max_timestamp,
            self.max_timestamp_offset,
            self.first_timestamp,
            self.bytes_since_index,
            len(self._index) if self._index is not None else 0,
            len(self._times) if self._times is not None else 0,
        )

    def go_back_to(self, mark: tuple[int, ...]) -> None:
        """Forget batches whose write failed.  In memory only, so that it cannot fail."""
        (
            self.size_bytes,
            self.max_timestamp,
            self.max_timestamp_offset,
            self.first_timestamp,
            self.bytes_since_index,
            index_length,
            times_length,
        ) = mark
        if self._index is not None:
            self._index.cut(index_length)
        if self._times is not None:
            self._times.cut(times_length)
        if self._aborted is not None:  # those of every batch that was written are in the file
            del self._aborted[self.aborted_saved :]

    # Indexes.

    @property
    def index(self) -> OffsetIndex:
        index = self._index
        if index is None:
            index = self._load()[0]
        if self.is_closed:
            self._count_use()
        return index

    @property
    def times(self) -> TimeIndex:
        times = self._times
        if times is None:
            times = self._load()[1]
        if self.is_closed:
            self._count_use()
        return times

    def aborted(self) -> list[AbortedTransaction]:
        """Transactions whose abort marker is in this segment, in order."""
        if self._aborted is None:
            data = self._pool.read_bytes(self.path(TXN_INDEX)) or b""
            found = txn_index.decode(data, self.base_offset)
            if found is None:
                _logger.error("%s is damaged and ignored.", self.path(TXN_INDEX))
            self._aborted = found or []
            self.aborted_saved = len(self._aborted)
        return self._aborted

    def largest_timestamp(self) -> int:
        """Of all batches; the time of the last write if they have none."""
        self.know_timestamps()
        if self.max_timestamp >= 0:
            return self.max_timestamp
        return self.modified_ms()

    def modified_ms(self) -> int:
        """When the log file was last written."""
        return self._pool.size_and_mtime_ms(self.file.path)[1]

    def know_timestamps(self) -> None:
        """Look up `max_timestamp` and `first_timestamp`, if that was not done yet."""
        if self.max_timestamp == UNKNOWN:
            tail = self._pool.read_tail(self.path(TIME_INDEX), TIME_ENTRY_BYTES, TIME_ENTRY_BYTES)
            times = TimeIndex.decode(tail or b"")
            last = times.last()
            if last is None or last[0] <= 0 or not self.is_closed:
                self._load()
            else:
                self.max_timestamp = last[0]
                self.max_timestamp_offset = self.base_offset + last[1]
        if self.first_timestamp == UNKNOWN:
            self.first_timestamp = read_header(self.file.read(0, HEADER_SIZE)).max_timestamp

    @property
    def has_aborted_file(self) -> bool:
        return self._aborted is None or self.aborted_saved > 0

    def start_over(self) -> None:
        """Recovery is going to `add` every batch again."""
        self.start_indexes()
        self.size_bytes = self.bytes_since_index = 0
        self.first_timestamp = self.max_timestamp = -1
        self.max_timestamp_offset = self.base_offset
        if self.has_aborted_file:
            self._pool.remove(self.path(TXN_INDEX))
        self._aborted = []
        self.aborted_saved = 0

    def start_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Begin with empty indexes that no file has yet."""
        index, times = OffsetIndex(), TimeIndex()
        index.saved = times.saved = -1
        self._index, self._times = index, times
        return index, times

    def _load(self) -> tuple[OffsetIndex, TimeIndex]:
        """Read both index files, or make both again."""
        raw_index = self._pool.read_bytes(self.path(INDEX))
        raw_times = self._pool.read_bytes(self.path(TIME_INDEX))
        index = None if raw_index is None else OffsetIndex.decode(raw_index, self.size_bytes)
        times = TimeIndex.decode(raw_times or b"")
        if (
            index is None
            or raw_times is None
            or (not index and self.size_bytes > self.index_interval)
            or (not times and self.size_bytes)
        ):
            if self.size_bytes and (not raw_index or not raw_times):
                _logger.info("Building the indexes of %s again.", self.file.path)
            return self.rebuild_indexes()
        self._index, self._times = index, times
        if self.max_timestamp == UNKNOWN:
            self._find_max_timestamp()
        last = index.last()
        self.bytes_since_index = self.size_bytes - (last[1] if last else 0)
        return index, times

    def _find_max_timestamp(self) -> None:
        """From the last time index entry, and the batches that came after it."""
        assert self._index is not None
        assert self._times is not None
        last = self._times.last() or (-1, 0)
        self.max_timestamp, self.max_timestamp_offset = last[0], self.base_offset + last[1]
        position = self._index.floor(last[1])
        for _, header in scan_headers(self.file, position, self.file.size):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self.max_timestamp_offset = header.last_offset

    def rebuild_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Make both indexes again from the headers in the log."""
        built = self.start_indexes()
        end, self.size_bytes, self.bytes_since_index = self.size_bytes, 0, 0
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        for _, header in scan_headers(self.file, 0, end):
            self.add(header.last_offset, header.size_bytes, header.max_timestamp)
        self.size_bytes = end
        if self.is_closed:
            built[1].add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self.save_indexes()
        return built

    def save_indexes(self) -> None:
        """Write to the index files what they lack.  To the page cache, like the log itself."""
        index, times = self._index, self._times
        if index is not None and index.saved != len(index):
            start = max(index.saved, 0)
            self._pool.write_bytes(
                self.path(INDEX), index.encode(start), position=start * OFFSET_ENTRY_BYTES
            )
            index.saved = len(index)
        if times is not None and times.saved != len(times):
            start = max(times.saved, 0)
            self._pool.write_bytes(
                self.path(TIME_INDEX), times.encode(start), position=start * TIME_ENTRY_BYTES
            )
            times.saved = len(times)

    def close_indexes(self) -> None:
        """No more batches come: save the indexes, the last time entry being the greatest of all."""
        if self._times is not None:
            self._times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.save_indexes()
        self.save_aborted()

    def _count_use(self) -> None:
        size = (self._index.size_bytes if self._index else 0) + (
            self._times.size_bytes if self._times else 0
        )
        self._cache.used(self, size)

    def unload(self) -> None:
        """The cache wants the memory back."""
        if self.is_closed:
            self.save_indexes()
            self._index = self._times = None

    # Finding.

    def locate(self, offset: int, limit: int) -> tuple[int, int] | None:
        """(position, size) of the first batch whose last offset is not below `offset`.

        None if there is none below position `limit`.
        """
        index = self.index
        start = position = index.floor(offset - self.base_offset)
        window = b""
        while position < limit:
            at = position - start
            if at + PLACE.size > len(window):
                window = self.file.read(position, WINDOW)
                start, at = position, 0
                if len(window) < PLACE.size:
                    return None
            base, length, magic, delta = _place(window, at)
            if magic != MAGIC or length < SMALLEST_LENGTH or base < self.base_offset:
                return self._locate_again(offset, limit, index)
            if offset <= base + delta:
                return position, length + LOG_OVERHEAD
            position += length + LOG_OVERHEAD
        return None

    def _locate_again(self, offset: int, limit: int, index: OffsetIndex) -> tuple[int, int] | None:
        """There is no batch where the index led: make a new one, and go from the beginning."""
        _logger.warning("The index of %s is wrong: building it again.", self.file.path)
        built = self.rebuild_indexes()[0]
        if list(built) == list(index):
            raise CorruptMessage(f"{self.file.path} is damaged.")
        return self.locate(offset, limit)

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the written batches from `position` on."""
        return scan_headers(self.file, position, self.file.size)

    def read_batch(self, position: int, header: BatchHeader) -> bytes:
        return self.file.read(position, header.size_bytes)

    # Ends.

    def cut(self, position: int, next_offset: int) -> None:
        """Remove the batches from `position` on; the last one left ends below `next_offset`."""
        index, times = self.index, self.times
        self.file.truncate(position)
        self.size_bytes = position
        index.cut_from_position(position)
        times.cut_from_offset(next_offset - self.base_offset)
        aborted = self.aborted()
        kept = [entry for entry in aborted if entry.last_offset < next_offset]
        if len(kept) < len(aborted):
            self._aborted = kept
            if kept:
                data = b"".join(map(txn_index.encode, kept))
                self._pool.write_bytes(self.path(TXN_INDEX), data)
            else:
                self._pool.remove(self.path(TXN_INDEX))
            self.aborted_saved = len(kept)
        self._find_max_timestamp()
        if position == 0:
            self.first_timestamp = -1
        last = index.last()
        self.bytes_since_index = position - (last[1] if last else 0)
        if times.saved > len(times) or index.saved > len(index):
            self.save_indexes()

    def reopen(self) -> None:
        """Batches come again: what came after this segment was cut off."""
        self.is_closed = False
        self._cache.forget(self)

    def rename_to(self, suffix: str) -> None:
        """Give all files of the segment another suffix, or none."""
        for kind in SEGMENT_SUFFIXES[1:]:
            plain = segment_path(self.directory, self.base_offset, kind)
            self._pool.rename_if_there(plain + self._suffix, plain + suffix)
        plain = segment_path(self.directory, self.base_offset, LOG)
        self.file.rename(plain + suffix)
        self._suffix = suffix

    def moved_to(self, directory: str) -> None:
        """The directory was renamed."""
        self.directory = directory
        self.file.path = self.path(LOG)

    def all_paths(self) -> list[str]:
        return [self.path(suffix) for suffix in SEGMENT_SUFFIXES]

    def close(self) -> None:
        """Give descriptor and memory back; the segment can still be used."""
        self._cache.forget(self)
        self.file.close()

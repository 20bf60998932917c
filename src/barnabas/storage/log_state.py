"""What a log knows, where it keeps that, and everything that only looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import OffsetOutOfRange
from barnabas.storage import log_read, producer_snapshot
from barnabas.storage.flushing import EPOCH_FILE
from barnabas.storage.segment_files import SNAPSHOT, segment_path

if TYPE_CHECKING:
    from barnabas.storage.config import LogConfig
    from barnabas.storage.epochs import EpochCache
    from barnabas.storage.fs import FilePool, FileSlice
    from barnabas.storage.index import IndexCache
    from barnabas.storage.log_read import FoundOffset, ReadHint
    from barnabas.storage.producer_state import ProducerEntry, ProducerStates
    from barnabas.storage.segment import Segment
    from barnabas.storage.segments import Segments
    from barnabas.storage.txn_index import AbortedTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class LogParts:
    """What `recovery.open_log` found on the disk."""

    pool: FilePool
    cache: IndexCache
    topic: str
    partition: int
    topic_id: bytes
    directory: str
    config: LogConfig
    segments: Segments
    producers: ProducerStates
    epochs: EpochCache
    snapshots: list[int]
    start_offset: int
    end_offset: int
    high_watermark: int
    recovery_point: int


class LogState:
    """All of a `Log` but appending, rolling and shortening.

    `start_offset <= high_watermark <= written_end_offset <= end_offset` always holds.
    """

    __slots__ = (
        "_hint",
        "cache",
        "config",
        "deleted",
        "directory",
        "end_offset",
        "epochs",
        "generation",
        "high_watermark",
        "last_flush_ms",
        "names_changed",
        "partition",
        "pool",
        "producers",
        "recovery_point",
        "segments",
        "snapshots",
        "start_offset",
        "topic",
        "topic_id",
        "written_end_offset",
    )

    def __init__(self, parts: LogParts) -> None:
        self.pool = parts.pool
        self.cache = parts.cache
        self.topic = parts.topic
        self.partition = parts.partition
        self.topic_id = parts.topic_id
        self.directory = parts.directory
        self.config = parts.config
        self.segments = parts.segments
        self.producers = parts.producers
        self.epochs = parts.epochs
        self.snapshots = parts.snapshots
        """Offsets of the producer snapshots on disk, growing."""
        self.start_offset = parts.start_offset
        self.end_offset = self.written_end_offset = parts.end_offset
        self.high_watermark = parts.high_watermark
        self.recovery_point = parts.recovery_point
        """Everything below is on the disk."""
        self.generation = 0
        """Counts truncations: what was true of an offset before one may not be after."""
        self.last_flush_ms = 0
        self.deleted: list[Segment] = []
        """Segments that are out of the log, renamed to `.deleted`; the manager removes them."""
        self.names_changed = True
        """Files were made or renamed since the directory was last flushed."""
        self._hint: ReadHint | None = None

    def __repr__(self) -> str:
        return f"<Log {self.topic}-{self.partition} [{self.start_offset}, {self.end_offset})>"

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    @property
    def last_stable_offset(self) -> int:
        """Everything below is decided: no open transaction has records there."""
        unstable = self.producers.first_unstable_offset
        return min(unstable, self.high_watermark) if unstable >= 0 else self.high_watermark

    def advance_high_watermark(self, offset: int) -> bool:
        """Everything below `offset` is replicated.  It never goes back.  True if it moved."""
        assert offset <= self.written_end_offset, "the high watermark is beyond what is written"
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.producers.replicated_to(offset)
        return True

    def read(
        self, offset: int, *, max_bytes: int, end_offset: int, at_least_one: bool
    ) -> FileSlice:
        """Batches from the one that holds `offset`, all below `end_offset`; maybe none.

        At most `max_bytes`, the last batch maybe cut; the first whole if `at_least_one`, else none
        if it does not fit.  Never more than one segment's.
        """
        if offset < self.start_offset or offset > self.end_offset:
            raise OffsetOutOfRange(
                f"Offset {offset} is not between {self.start_offset} and {self.end_offset}."
            )
        found, self._hint = log_read.read_slice(
            self.segments,
            offset,
            max_bytes=max_bytes,
            end_offset=end_offset,
            written_end_offset=self.written_end_offset,
            at_least_one=at_least_one,
            hint=self._hint,
        )
        return found

    def find_by_time(self, timestamp: int) -> FoundOffset | None:
        """The first record whose timestamp is `timestamp` or later."""
        return log_read.find_by_time(self.segments, timestamp, self.start_offset)

    def find_max_timestamp(self) -> FoundOffset | None:
        """The first of the records with the greatest timestamp."""
        return log_read.find_max_timestamp(self.segments)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the last epoch not above `epoch`; (-1, -1) if unknown."""
        return self.epochs.end_of(epoch, self.end_offset)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        """Those with records from `start` up to, not including, `end`."""
        return log_read.aborted_transactions(self.segments, start, end)

    def aborted_in(self, found: FileSlice, offset: int, end: int) -> list[AbortedTransaction]:
        """Those that a reader of `found`, got by `read(offset, end_offset=end)`, has to know of.

        A few more may be among them that begin shortly after it.
        """
        if not found.length:
            return []
        end = log_read.end_of_slice(self.segments, found, offset, end)
        return log_read.aborted_transactions(self.segments, offset, end)

    def active_producers(self) -> list[ProducerEntry]:
        return list(self.producers.entries.values())

    # What goes with the batches, on the disk.

    def take_snapshot(self, offset: int) -> None:
        """Write down what is known of producers; it must be the state as of `offset`."""
        if offset in self.snapshots[-1:] or offset == self.segments.first.base_offset:
            return
        assert not self.snapshots or offset > self.snapshots[-1], "snapshots must grow"
        path = segment_path(self.directory, offset, SNAPSHOT)
        self.pool.write_bytes(path, producer_snapshot.encode(self.producers.entries.values()))
        self.snapshots.append(offset)

    def save_epochs(self) -> None:
        if self.epochs.dirty:
            path = f"{self.directory}/{EPOCH_FILE}"
            self.pool.write_atomically(path, self.epochs.encode(), sync=False)
            self.epochs.dirty = False
            self.names_changed = True

    def moved_to(self, directory: str) -> None:
        """The directory was renamed; open slices go on working."""
        self.directory = directory
        for segment in (*self.segments, *self.deleted):
            segment.moved_to(directory)

"""One replica of a partition: a log of batches in segments."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import CorruptMessage, OffsetOutOfRange, StorageFailed
from barnabas.records.batch import (
    LOG_OVERHEAD,
    TRANSACTIONAL,
    BatchHeader,
    crc_is_valid,
    iter_headers,
    set_offset_and_epoch,
)
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker
from barnabas.records.validate import validate_batch
from barnabas.storage import log_read, log_trim, producer_snapshot
from barnabas.storage.flushing import EPOCH_FILE, FlushJob
from barnabas.storage.index import MAX_RELATIVE_OFFSET
from barnabas.storage.producer_state import MAX_SEQUENCE, ProducerEntry, ProducerStates
from barnabas.storage.replay import apply_batch
from barnabas.storage.segment import Segment, segment_path

if TYPE_CHECKING:
    from barnabas.storage.config import LogConfig
    from barnabas.storage.epochs import EpochCache
    from barnabas.storage.fs import Buffer, FilePool, FileSlice
    from barnabas.storage.index import IndexCache
    from barnabas.storage.log_read import FoundOffset, ReadHint
    from barnabas.storage.segments import Segments
    from barnabas.storage.txn_index import AbortedTransaction

SNAPSHOT = ".snapshot"
_new_tuple = tuple.__new__
_logger = logging.getLogger(__name__)


class Appended(NamedTuple):
    """What a producer is told.  `log_append_time` is -1 where producers set the timestamps."""

    base_offset: int
    last_offset: int
    log_append_time: int
    log_start_offset: int


class Log:
    """A partition replica.  Loop thread only.

    Appends are queued and reach the page cache in `write_pending`; until then they can be taken back,
    and no reader sees them.  They are durable below `recovery_point`, which `flush` moves.

    `start_offset <= high_watermark <= written_end_offset <= end_offset` always holds.
    """

    __slots__ = (
        "_epochs_before",
        "_failure",
        "_hint",
        "_mark",
        "_pending",
        "_pending_bytes",
        "_roll_after_timestamp",
        "_roll_bytes",
        "_roll_jitter",
        "_roll_offset",
        "cache",
        "config",
        "deleted",
        "directory",
        "end_offset",
        "epochs",
        "generation",
        "high_watermark",
        "last_flush_ms",
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

    def __init__(
        self,
        *,
        pool: FilePool,
        cache: IndexCache,
        topic: str,
        partition: int,
        topic_id: bytes,
        directory: str,
        config: LogConfig,
        segments: Segments,
        producers: ProducerStates,
        epochs: EpochCache,
        snapshots: list[int],
        start_offset: int,
        end_offset: int,
        high_watermark: int,
        recovery_point: int,
    ) -> None:
        """Built by `recovery.open_log`, which finds out what is on the disk."""
        self.pool = pool
        self.cache = cache
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.directory = directory
        self.segments = segments
        self.producers = producers
        self.epochs = epochs
        self.snapshots = snapshots
        """Offsets of the producer snapshots on disk, growing."""
        self.start_offset = start_offset
        self.end_offset = self.written_end_offset = end_offset
        self.high_watermark = high_watermark
        self.recovery_point = recovery_point
        self.generation = 0
        """Counts truncations: what was true of an offset before one may not be after."""
        self.last_flush_ms = 0
        self.deleted: list[Segment] = []
        """Segments that are out of the log, renamed to `.deleted`; the manager removes them."""
        self._pending: list[Buffer] = []
        self._pending_bytes = 0
        self._mark: tuple[int, ...] = ()
        self._epochs_before: list[tuple[int, int]] | None = None
        self._failure: StorageFailed | None = None
        self._hint: ReadHint | None = None
        self.reconfigure(config)

    def __repr__(self) -> str:
        return f"<Log {self.topic}-{self.partition} [{self.start_offset}, {self.end_offset})>"

    def reconfigure(self, config: LogConfig) -> None:
        """Settings changed: they hold from the next append on."""
        self.config = config
        jitter = config.segment_jitter_ms
        self._roll_jitter = hash((self.topic, self.partition)) % jitter if jitter > 0 else 0
        for segment in self.segments:
            segment.index_interval = config.index_interval_bytes
        self._set_roll_limits()

    # Appending.

    @property
    def is_dirty(self) -> bool:
        """Whether `write_pending` has something to do, or to say."""
        return bool(self._pending) or self._failure is not None

    def append_as_leader(
        self,
        data: memoryview,
        *,
        leader_epoch: int,
        now_ms: int,
        zstd_allowed: bool = True,
        zero_start: bool = False,
    ) -> Appended:
        """Check and queue one batch of a client; offset and epoch are patched into `data`.

        `data` must not change until `write_pending`.  `zero_start`: see `ProducerStates.check`.
        """
        if self._failure is not None:
            raise StorageFailed(self._failure.message) from self._failure
        data, header, append_time = validate_batch(
            data, self.config.rules, now_ms=now_ms, zstd_allowed=zstd_allowed
        )
        (_, length, _, _, _, attributes, delta, _, timestamp, producer_id, epoch, sequence, _) = (
            header
        )
        size = length + LOG_OVERHEAD
        entry: ProducerEntry | None = None
        if producer_id >= 0:
            entry = self.producers.entries.get(producer_id)
            if entry is None:
                entry = ProducerEntry(producer_id)
            batches = entry.batches
            if (
                not batches
                or batches[-1][0] + 1 != sequence
                or entry.producer_epoch != epoch
                or (entry.transaction_start >= 0 and not attributes & TRANSACTIONAL)
            ):
                repeated = self.producers.find_duplicate(entry, epoch, sequence, delta + 1)
                if repeated is not None:
                    return Appended(
                        repeated.first_offset,
                        repeated.last_offset,
                        repeated.timestamp,
                        self.start_offset,
                    )
                self.producers.check(
                    entry,
                    epoch,
                    sequence,
                    is_transactional=attributes & TRANSACTIONAL != 0,
                    zero_start=zero_start,
                )
        base = self.end_offset
        last = base + delta
        segment = self.segments.active
        if (
            segment.size_bytes + size > self._roll_bytes
            or timestamp > self._roll_after_timestamp
            or last > self._roll_offset
        ):
            segment = self._roll_if_needed(last, size, timestamp, now_ms)
        if not self._pending:
            self._mark = segment.mark()
        if leader_epoch != self.epochs.latest:
            self._assign_epoch(leader_epoch)
        set_offset_and_epoch(data, 0, base, leader_epoch)
        if entry is not None:
            self.producers.apply_data(
                entry,
                epoch,
                (sequence + delta) & MAX_SEQUENCE,
                last,
                delta,
                timestamp,
                attributes & TRANSACTIONAL != 0,
            )
        segment.add(last, size, timestamp)
        self._pending.append(data)
        self._pending_bytes += size
        self.end_offset = last + 1
        return _new_tuple(Appended, (base, last, append_time, self.start_offset))

    def append_control(
        self,
        *,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        coordinator_epoch: int,
        leader_epoch: int,
        now_ms: int,
        transaction_version: int = 0,
    ) -> Appended:
        """Queue the marker that ends a transaction in this partition."""
        entry = self.producers.entry_for(producer_id)
        self.producers.check_marker(entry, producer_epoch, coordinator_epoch, transaction_version)
        batch = encode_end_txn_marker(
            EndTxnMarker(ControlType.COMMIT if is_commit else ControlType.ABORT, coordinator_epoch),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timestamp=now_ms,
            base_offset=self.end_offset,
            leader_epoch=leader_epoch,
        )
        return self.append_as_follower(memoryview(batch), now_ms=now_ms)

    def append_as_follower(self, data: Buffer, *, now_ms: int) -> Appended:
        """Queue whole batches as they are, with the offsets and epochs that a leader assigned.

        Half a batch at the end is left out.  Offsets must not be below the end of the log; a hole
        before them is fine.  `data` must not change until `write_pending`.
        """
        if self._failure is not None:
            raise StorageFailed(self._failure.message) from self._failure
        view = memoryview(data)
        first = self.end_offset
        found = list(iter_headers(view))
        for position, header in found:
            if header.base_offset < first:
                raise OffsetOutOfRange(
                    f"A batch at offset {header.base_offset} came after offset {first - 1}."
                )
            if not crc_is_valid(view[position : position + header.size_bytes], header):
                raise CorruptMessage(f"The batch at offset {header.base_offset} is damaged.")
            first = header.next_offset
        base = found[0][1].base_offset if found else self.end_offset
        for position, header in found:
            self._queue(view[position : position + header.size_bytes], header, now_ms)
        return Appended(base, self.end_offset - 1, -1, self.start_offset)

    def _queue(self, batch: memoryview, header: BatchHeader, now_ms: int) -> None:
        """Append one batch that needs no more checks."""
        size, last = header.size_bytes, header.last_offset
        segment = self._roll_if_needed(last, size, header.max_timestamp, now_ms)
        if not self._pending:
            self._mark = segment.mark()
        if header.leader_epoch > self.epochs.latest:
            self._assign_epoch(header.leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            apply_batch(self.producers, header, batch, segment)
        segment.add(last, size, header.max_timestamp)
        self._pending.append(batch)
        self._pending_bytes += size
        self.end_offset = last + 1

    def _assign_epoch(self, epoch: int, offset: int | None = None) -> None:
        if self._epochs_before is None:
            self._epochs_before = self.epochs.entries
        self.epochs.assign(epoch, self.end_offset if offset is None else offset)

    def start_leader_epoch(self, epoch: int) -> None:
        """A leader of `epoch` appends from here on."""
        self.epochs.assign(epoch, self.end_offset)

    def write_pending(self) -> None:
        """Write what is queued, with one system call.

        StorageFailed: nothing of it was appended, and the log is as it was before.  Also raised, once,
        if a write failed that an append had to make before it could roll.
        """
        pending = self._pending
        if not pending:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise StorageFailed(failure.message) from failure
            return
        segment = self.segments.active
        try:
            segment.file.append(pending, self._pending_bytes)
            if self._mark[-1] != len(segment.aborted()):
                segment.save_aborted()
        except StorageFailed:
            self._take_back(segment)
            raise
        pending.clear()
        self._pending_bytes = 0
        self._epochs_before = None
        self.producers.commit()
        self.producers.end_offset = self.written_end_offset = self.end_offset
        if self.end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()

    def _take_back(self, segment: Segment) -> None:
        size = self._mark[0]
        if segment.file.size != size:  # the batches were written, but not what goes with them
            segment.file.truncate(size)
        segment.go_back_to(self._mark)
        self.producers.roll_back()
        if self._epochs_before is not None:
            self.epochs.restore(self._epochs_before)
            self._epochs_before = None
        self.end_offset = self.written_end_offset
        self._pending.clear()
        self._pending_bytes = 0

    # Rolling.

    def _set_roll_limits(self) -> None:
        """Precompute, so that an append that does not roll needs three comparisons."""
        config = self.config
        segment = self.segments.active
        self._roll_bytes = min(
            config.segment_bytes, config.max_index_entries * config.index_interval_bytes
        )
        self._roll_offset = segment.base_offset + MAX_RELATIVE_OFFSET
        self._roll_after_timestamp = -2  # unknown: the next append looks closer

    def _roll_if_needed(self, last_offset: int, size: int, timestamp: int, now_ms: int) -> Segment:
        """The segment that a batch goes to."""
        config = self.config
        segment = self.segments.active
        index = segment.index  # loaded before the first append
        segment.know_timestamps()
        first, roll_ms = segment.first_timestamp, config.segment_ms - self._roll_jitter
        waited = timestamp - first if first >= 0 else now_ms - segment.modified_ms
        full = len(index) >= config.max_index_entries
        if (
            segment.size_bytes + size > config.segment_bytes
            or (segment.size_bytes > 0 and waited > roll_ms)
            or full
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ) and (segment.size_bytes > 0 or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET):
            base = self.end_offset
            if last_offset - base > MAX_RELATIVE_OFFSET:
                base = last_offset - MAX_RELATIVE_OFFSET
            self.roll(now_ms, base)
            return self.segments.active
        if first >= 0:
            self._roll_after_timestamp = first + roll_ms
        return segment

    def roll(self, now_ms: int, base_offset: int | None = None) -> None:
        """Close the active segment and begin another; nothing happens if it would be the same."""
        base = self.end_offset if base_offset is None else base_offset
        had_pending = bool(self._pending)
        try:
            self.write_pending()
        except StorageFailed as failure:
            if had_pending:
                self._failure = failure  # whoever queued those batches learns of it too
            raise
        active = self.segments.active
        if base == active.base_offset:
            return
        active.close_indexes()
        self.producers.end_offset = base
        self.take_snapshot(base)
        segment = Segment.create(
            self.pool,
            self.cache,
            self.directory,
            base,
            index_interval=self.config.index_interval_bytes,
            now_ms=now_ms,
        )
        self.segments.append(segment)
        if active.size_bytes == 0:
            log_trim.drop(self, [active])
        self._hint = None
        self._set_roll_limits()

    def take_snapshot(self, offset: int) -> None:
        """Write down what is known of producers; it must be the state as of `offset`."""
        if offset in self.snapshots[-1:] or offset == self.segments.first.base_offset:
            return
        assert not self.snapshots or offset > self.snapshots[-1], "snapshots must grow"
        path = segment_path(self.directory, offset, SNAPSHOT)
        self.pool.write_bytes(path, producer_snapshot.encode(self.producers.entries.values()))
        self.snapshots.append(offset)

    # Durability.

    def flush(self) -> None:
        """Return when everything appended so far is on the disk."""
        self.write_pending()
        job = self.flush_job()
        if job is not None:
            job.run()
            self.flushed(job)

    def flush_job(self, *, closed_only: bool = False) -> FlushJob | None:
        """What a worker has to do to make all written so far durable; None if it is already."""
        offset = self.segments.active.base_offset if closed_only else self.written_end_offset
        if offset <= self.recovery_point:
            return None
        self.save_epochs()
        return FlushJob.for_segments(
            [
                segment
                for segment in self.segments.from_offset(self.recovery_point)
                if segment.is_closed or not closed_only
            ],
            pool=self.pool,
            directory=self.directory,
            offset=offset,
            generation=self.generation,
        )

    def flushed(self, job: FlushJob) -> None:
        """`job` ran without an error."""
        if job.generation == self.generation:
            self.recovery_point = max(self.recovery_point, job.offset)

    def save_epochs(self) -> None:
        if self.epochs.dirty:
            self.pool.write_atomically(
                f"{self.directory}/{EPOCH_FILE}", self.epochs.encode(), sync=False
            )
            self.epochs.dirty = False

    def close(self, *, flush: bool = True) -> None:
        """Leave everything so that `open_log` finds it again without looking at the batches."""
        self.write_pending()
        if flush:
            self.flush()
        self.segments.active.close_indexes()
        if self.end_offset > (self.snapshots[-1] if self.snapshots else self.start_offset):
            self.take_snapshot(self.end_offset)
        self.save_epochs()
        for segment in (*self.segments, *self.deleted):
            segment.close()

    def abandon(self) -> None:
        """Give descriptors and memory back and write nothing: the directory is gone or broken."""
        self._pending.clear()
        self._pending_bytes = 0
        self._failure = StorageFailed(f"{self.directory} is not in use any more")
        for segment in (*self.segments, *self.deleted):
            segment.close()

    def moved_to(self, directory: str) -> None:
        """The directory was renamed; open slices go on working."""
        self.directory = directory
        for segment in (*self.segments, *self.deleted):
            segment.moved_to(directory)

    # Watermarks.

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

    # Reading.

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    def read(
        self, offset: int, *, max_bytes: int, end_offset: int, at_least_one: bool
    ) -> FileSlice:
        """Batches from the one that holds `offset`, all below `end_offset`; maybe none.

        At most `max_bytes`, the last batch maybe cut; the first whole if `at_least_one`, else none if
        it does not fit.  Never more than one segment's.
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
        return log_read.find_max_timestamp(self.segments)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the last epoch not above `epoch`; (-1, -1) if unknown."""
        return self.epochs.end_of(epoch, self.end_offset)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        """Those with records from `start` up to, not including, `end`."""
        return log_read.aborted_transactions(self.segments, start, end)

    def active_producers(self) -> list[ProducerEntry]:
        return list(self.producers.entries.values())

    # Shortening.

    def delete_records_before(self, offset: int) -> int:
        """Begin the log at `offset`, not above the high watermark; the new start offset."""
        return log_trim.delete_records_before(self, offset)

    def truncate_to(self, offset: int) -> bool:
        """Drop every batch with an offset not below `offset`.  True if there was any."""
        return log_trim.truncate_to(self, offset)

    def reset_to(self, offset: int, *, now_ms: int) -> None:
        """Drop everything and begin anew at `offset`."""
        log_trim.reset_to(self, offset, now_ms=now_ms)

    def enforce_retention(self, now_ms: int) -> int:
        """Drop segments that are too old or too many; how many."""
        return log_trim.enforce_retention(self, now_ms)

    def forget_places(self) -> None:
        """Segments changed: nothing remembered about positions holds."""
        self._hint = None
        self._set_roll_limits()

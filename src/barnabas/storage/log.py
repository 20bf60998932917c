"""One replica of a partition: a log of batches in segments."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from barnabas.base.errors import CorruptMessage, OffsetOutOfRange, StorageFailed
from barnabas.records.batch import LOG_OVERHEAD, TRANSACTIONAL, crc_is_valid, iter_headers
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker
from barnabas.records.validate import validate_batch
from barnabas.storage import flushing, log_trim
from barnabas.storage.index import MAX_RELATIVE_OFFSET
from barnabas.storage.log_state import LogParts, LogState
from barnabas.storage.producer_state import MAX_SEQUENCE, AppendedBatch, ProducerEntry
from barnabas.storage.replay import apply_batch
from barnabas.storage.segment import Segment

if TYPE_CHECKING:
    from barnabas.records.batch import BatchHeader
    from barnabas.records.validate import Validated
    from barnabas.storage.config import LogConfig
    from barnabas.storage.flushing import FlushJob
    from barnabas.storage.fs import Buffer
    from barnabas.storage.log_trim import CleanedSegment, SegmentView

_assign = struct.Struct(">qii").pack_into  # base offset, length, leader epoch
_new_tuple = tuple.__new__
_BELOW_ALL = -(1 << 63) - 1
"""Less than any timestamp, also one that makes no sense."""


class Appended(NamedTuple):
    """What a producer is told.  `log_append_time` is -1 where producers set the timestamps."""

    base_offset: int
    last_offset: int
    log_append_time: int
    log_start_offset: int


class Log(LogState):
    """A partition replica.  Loop thread only.

    Appends are queued and reach the page cache in `write_pending`; until then they can be taken
    back, and no reader sees them.  They are durable below `recovery_point`, which `flush` moves.
    """

    __slots__ = (
        "_epochs_before",
        "_failure",
        "_is_abandoned",
        "_mark",
        "_pending",
        "_pending_bytes",
        "_roll_after_timestamp",
        "_roll_bytes",
        "_roll_jitter",
        "_roll_offset",
    )

    def __init__(self, parts: LogParts) -> None:
        super().__init__(parts)
        self._pending: list[Buffer] = []
        self._pending_bytes = 0
        self._mark: tuple[int, ...] = ()
        self._epochs_before: list[tuple[int, int]] | None = None
        self._failure: StorageFailed | None = None
        self._is_abandoned = False
        self.reconfigure(parts.config)

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
        data: memoryview | Validated,
        *,
        leader_epoch: int,
        now_ms: int,
        zstd_allowed: bool = True,
        zero_start: bool = False,
        patient: bool = True,
    ) -> Appended:
        """Check and queue one batch of a client; offset and epoch are patched into `data`.

        `data` must not change until `write_pending`.  `zero_start`: see `ProducerStates.check`.
        `zstd_allowed`, `patient`: see `validate_batch`; what is already validated needs neither.
        """
        if self._failure is not None:
            self._refuse()
        if isinstance(data, memoryview):
            data, header, append_time = validate_batch(
                data, self.config.rules, now_ms=now_ms, zstd_allowed=zstd_allowed, patient=patient
            )
        else:
            data, header, append_time = data
        _, length, _, _, _, attributes, delta, _, timestamp, producer_id, epoch, sequence, _ = (
            header
        )
        entry: ProducerEntry | None = None
        if producer_id >= 0:
            entry = self.producers.entries.get(producer_id)
            if (
                entry is None
                or not entry.batches
                or entry.batches[-1][0] + 1 != sequence
                or entry.producer_epoch != epoch
                or (entry.transaction_start >= 0 and not attributes & TRANSACTIONAL)
            ):
                entry = self.producers.entry_for(producer_id)
                repeated = self._check_producer(entry, header, zero_start=zero_start)
                if repeated is not None:
                    return repeated
        size = length + LOG_OVERHEAD
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
            self._assign_epoch(leader_epoch, base)
        _assign(data, 0, base, length, leader_epoch)
        if entry is not None:
            batch = _new_tuple(
                AppendedBatch, ((sequence + delta) & MAX_SEQUENCE, last, delta, timestamp)
            )
            self.producers.apply_data(
                entry, epoch, batch, is_transactional=attributes & TRANSACTIONAL != 0
            )
        segment.add(last, size, timestamp)
        self._pending.append(data)
        self._pending_bytes += size
        self.end_offset = last + 1
        return _new_tuple(Appended, (base, last, append_time, self.start_offset))

    def _check_producer(
        self, entry: ProducerEntry, header: BatchHeader, *, zero_start: bool
    ) -> Appended | None:
        """What the first of two equal batches was told; None if the batch is a new one."""
        epoch, sequence = header.producer_epoch, header.base_sequence
        first = self.producers.find_duplicate(entry, epoch, sequence, header.last_offset_delta)
        if first is not None:
            return Appended(
                first.first_offset, first.last_offset, first.timestamp, self.start_offset
            )
        self.producers.check(
            entry,
            epoch,
            sequence,
            is_transactional=header.is_transactional,
            zero_start=zero_start,
        )
        return None

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
        kind = ControlType.COMMIT if is_commit else ControlType.ABORT
        batch = encode_end_txn_marker(
            EndTxnMarker(kind, coordinator_epoch),
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
            self._refuse()
        view = memoryview(data)
        expected = self.end_offset
        found: list[tuple[memoryview, BatchHeader]] = []
        for position, header in iter_headers(view):
            base = header.base_offset
            if base < expected:
                raise OffsetOutOfRange(f"A batch at offset {base} came after {expected - 1}.")
            batch = view[position : position + header.batch_length + LOG_OVERHEAD]
            if not crc_is_valid(batch, header):
                raise CorruptMessage(f"The batch at offset {base} is damaged.")
            expected = base + header.last_offset_delta + 1
            found.append((batch, header))
        first = found[0][1].base_offset if found else expected
        for batch, header in found:
            self._queue(batch, header, now_ms)
        return Appended(first, self.end_offset - 1, -1, self.start_offset)

    def _queue(self, batch: memoryview, header: BatchHeader, now_ms: int) -> None:
        """Append one batch that needs no more checks."""
        size, last, timestamp = len(batch), header.last_offset, header.max_timestamp
        segment = self.segments.active
        if (
            segment.size_bytes + size > self._roll_bytes
            or timestamp > self._roll_after_timestamp
            or last > self._roll_offset
        ):
            segment = self._roll_if_needed(last, size, timestamp, now_ms)
        if not self._pending:
            self._mark = segment.mark()
        if header.leader_epoch > self.epochs.latest:
            self._assign_epoch(header.leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            apply_batch(self.producers, header, batch, segment)
        segment.add(last, size, timestamp)
        self._pending.append(batch)
        self._pending_bytes += size
        self.end_offset = last + 1

    def _assign_epoch(self, epoch: int, offset: int) -> None:
        if self._epochs_before is None:
            self._epochs_before = self.epochs.entries
        self.epochs.assign(epoch, offset)

    def start_leader_epoch(self, epoch: int) -> None:
        """A leader of `epoch` appends from here on."""
        self.epochs.assign(epoch, self.end_offset)

    # Writing.

    def write_pending(self) -> None:
        """Write what is queued, with one system call.

        StorageFailed: nothing of it was appended, and the log is as it was before.  Also raised,
        once, if a write failed that an append had to make before it could roll.
        """
        pending = self._pending
        if not pending:
            if self._failure is not None:
                failure = self._failure
                self._failure = failure if self._is_abandoned else None
                raise StorageFailed(failure.message) from failure
            return
        segment = self.segments.active
        try:
            segment.file.append(pending, self._pending_bytes)
            if segment.has_unsaved_aborted:
                segment.save_aborted()
        except StorageFailed:
            self._take_back(segment)
            raise
        pending.clear()
        self._pending_bytes = 0
        self._epochs_before = None
        self.written_end_offset = self.end_offset
        self.producers.commit(self.end_offset)
        if self.end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()

    def write_now(self) -> None:
        """Write what is queued before its turn.

        If that fails, whoever queued it must learn of it too: `write_pending` says it again, and
        until then nothing more is queued.
        """
        had_pending = bool(self._pending)
        try:
            self.write_pending()
        except StorageFailed as failure:
            if had_pending:
                self._failure = failure
            raise

    def _take_back(self, segment: Segment) -> None:
        """Be as if what is queued had never come."""
        segment.go_back_to(self._mark)
        segment.file.take_back(segment.size_bytes)
        self.producers.roll_back()
        if self._epochs_before is not None:
            self.epochs.restore(self._epochs_before)
            self._epochs_before = None
        self.end_offset = self.written_end_offset
        self._pending.clear()
        self._pending_bytes = 0

    def _refuse(self) -> NoReturn:
        """A write failed, and whoever queued those batches has not heard of it yet."""
        failure = self._failure
        assert failure is not None
        raise StorageFailed(failure.message) from failure

    # Rolling.

    def _set_roll_limits(self) -> None:
        """Precompute, so that an append that does not roll needs three comparisons."""
        config = self.config
        self._roll_bytes = min(
            config.segment_bytes, config.max_index_entries * config.index_interval_bytes
        )
        self._roll_offset = self.segments.active.base_offset + MAX_RELATIVE_OFFSET
        self._roll_after_timestamp = _BELOW_ALL  # unknown: the next append looks closer

    def _roll_if_needed(self, last_offset: int, size: int, timestamp: int, now_ms: int) -> Segment:
        """The segment that a batch goes to; its indexes are loaded."""
        config = self.config
        segment = self.segments.active
        entries = len(segment.index)
        segment.know_timestamps()
        first, roll_ms = segment.first_timestamp, config.roll_ms - self._roll_jitter
        waited = timestamp - first if first >= 0 else now_ms - segment.created_ms
        overflows = last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        is_full = segment.size_bytes + size > config.segment_bytes
        if overflows or (
            segment.size_bytes > 0
            and (is_full or waited > roll_ms or entries >= config.max_index_entries)
        ):
            self.roll(now_ms, max(self.end_offset, last_offset - MAX_RELATIVE_OFFSET))
            return self.segments.active
        if first >= 0:
            self._roll_after_timestamp = first + roll_ms
        return segment

    def roll(self, now_ms: int, base_offset: int | None = None) -> None:
        """Close the active segment and begin another; nothing happens if it would be the same."""
        self.write_now()
        base = self.end_offset if base_offset is None else base_offset
        active = self.segments.active
        if base == active.base_offset:
            return
        active.close_indexes()
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
        self.names_changed = True
        if active.size_bytes == 0:
            log_trim.drop(self, [active])
        self.forget_places()

    def forget_places(self) -> None:
        """Segments changed: nothing remembered about positions holds."""
        self._hint = None
        self._set_roll_limits()

    # Durability.

    def flush(self) -> None:
        """Return when everything appended so far is on the disk."""
        self.write_now()
        job = self.flush_job()
        if job is not None:
            job.run()
            self.flushed(job)

    def flush_job(self, *, closed_only: bool = False) -> FlushJob | None:
        """What a worker has to do to make all written so far durable; None if it is already."""
        return flushing.job_for(self, closed_only=closed_only)

    def flushed(self, job: FlushJob) -> None:
        """`job` ran without an error."""
        if job.generation == self.generation:
            self.recovery_point = max(self.recovery_point, job.offset)

    def close(self) -> None:
        """Leave everything durable, so that `open_log` need not look at the batches."""
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
        self._is_abandoned = True
        self._failure = StorageFailed(f"{self.directory} is not in use any more")
        for segment in (*self.segments, *self.deleted):
            segment.close()

    # Shortening: see log_trim.py.

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

    def cleanable_segments(self) -> list[SegmentView]:
        """Closed segments, oldest first, all of whose records are replicated and decided."""
        return log_trim.cleanable_segments(self)

    def replace_segments(self, new: list[CleanedSegment], old: list[SegmentView]) -> bool:
        """Put compacted segments where `old` ones were; False if one of those is gone."""
        return log_trim.replace_segments(self, new, old)

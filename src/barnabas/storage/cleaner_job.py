"""The compaction of one log, step by step, on a worker thread.

The loop thread makes a `CleaningPlan` of things that do not change, and a `CleaningJob` of that.  A
worker runs its steps one at a time; between two steps the loop thread puts what the last one wrote
into the log.  A job belongs to whoever runs its step, or else to the loop thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import CorruptMessage
from barnabas.records.header import (
    HEADER_SIZE,
    BatchHeader,
    check_framing,
    crc_is_valid,
    read_header,
)
from barnabas.storage.cleaner_select import LARGEST_SEGMENT, group_segments
from barnabas.storage.cleaner_writer import CleanedWriter
from barnabas.storage.compaction import Compactor, LastRecord, OffsetMap, Transactions, map_batch

if TYPE_CHECKING:
    from barnabas.storage.fs import Buffer, FilePool
    from barnabas.storage.log_trim import CleanedSegment, SegmentView
    from barnabas.storage.txn_index import AbortedTransaction

_READ_BYTES = 1 << 20
_BREATH_RECORDS = 500
_BREATH_SECONDS = 0.000_05
_SHORTEST_WAIT = 0.001


class CleaningStopped(Exception):  # noqa: N818 (says what happened)
    """The broker is stopping: the job gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningPlan:
    """All that a job needs to know.  Immutable."""

    name: str
    directory: str
    segments: tuple[SegmentView, ...]
    first_dirty_offset: int
    upper_bound: int
    aborted: tuple[AbortedTransaction, ...]
    """Every aborted transaction of the log whose marker is still there."""
    last_records: Mapping[int, LastRecord]
    map_bytes: int
    group_bytes: int
    index_interval_bytes: int
    delete_retention_ms: int
    now_ms: int


class Pace:
    """Keeps compaction from taking the disk or the interpreter from the loop thread.

    `spend` waits as long as `bytes_per_second` asks for.  It also lets go of the interpreter for a
    moment every thousandth of a second or so: a thread that computes would otherwise keep the loop
    thread waiting for several milliseconds whenever that wakes up.
    """

    def __init__(
        self,
        bytes_per_second: float,
        *,
        monotonic: Callable[[], float],
        stop: threading.Event,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_second
        self._monotonic = monotonic
        self._stop = stop
        self._sleep = sleep
        self._free_at = monotonic()
        self._records = 0

    def spend(self, size: int, records: int) -> None:
        """`size` bytes were read or written and so many records looked at.  CleaningStopped."""
        self._records += records + 10
        if self._records >= _BREATH_RECORDS:
            self._records = 0
            self._sleep(_BREATH_SECONDS)
        now = self._monotonic()
        self._free_at = max(self._free_at, now) + size / self._rate
        wait = self._free_at - now
        if self._stop.wait(wait) if wait > _SHORTEST_WAIT else self._stop.is_set():
            raise CleaningStopped


class CleaningJob:
    """One compaction.  `step` until `is_done`; what each step returns goes into the log."""

    def __init__(self, plan: CleaningPlan, pool: FilePool, pace: Pace) -> None:
        self.plan = plan
        self.bytes_read = 0
        self.bytes_written = 0
        self.replaced: tuple[SegmentView, ...] = ()
        self.cleaned: tuple[CleanedSegment, ...] = ()
        self._pool = pool
        self._pace = pace
        self._offsets = OffsetMap(plan.map_bytes, plan.first_dirty_offset)
        self._groups: list[tuple[SegmentView, ...]] | None = None
        base_offset = plan.segments[0].base_offset
        self._transactions = Transactions(t for t in plan.aborted if t.last_offset >= base_offset)
        self._compactor = Compactor(
            self._offsets,
            self._transactions,
            last_records=plan.last_records,
            upper_bound=plan.upper_bound,
            now_ms=plan.now_ms,
            delete_retention_ms=plan.delete_retention_ms,
        )

    @property
    def is_done(self) -> bool:
        return self._groups == []

    @property
    def end_offset(self) -> int:
        """Where the compacted part of the log ends, when the job is done."""
        return self._offsets.end_offset

    def step(self) -> None:
        """Map the keys first; then compact one group into `cleaned`, to stand for `replaced`."""
        self.replaced, self.cleaned = (), ()
        if self._groups is None:
            self._map_keys()
            self._groups = group_segments(
                (v for v in self.plan.segments if v.base_offset < self._offsets.end_offset),
                max_bytes=self.plan.group_bytes,
            )
        else:
            group = self._groups.pop(0)
            self.cleaned = self._clean(group)
            self.replaced = group

    def _map_keys(self) -> None:
        plan, offsets = self.plan, self._offsets
        dirty = plan.first_dirty_offset
        transactions = Transactions(t for t in plan.aborted if t.last_offset >= dirty)
        for view in plan.segments:
            if view.next_base_offset <= dirty:
                continue
            for header, batch in self._batches(view):
                if header.last_offset < dirty:
                    continue
                if offsets.is_full and offsets.end_offset > dirty:
                    return
                map_batch(offsets, transactions, header, batch)
            offsets.end_offset = max(offsets.end_offset, view.next_base_offset)

    def _clean(self, group: tuple[SegmentView, ...]) -> tuple[CleanedSegment, ...]:
        writers = [self._writer(group[0].base_offset)]
        aborted: list[list[AbortedTransaction]] = [[]]
        try:
            for view in group:
                for header, batch in self._batches(view):
                    kept = self._compactor.filter(header, batch)
                    if kept is None:
                        continue
                    own = header if kept is batch else read_header(kept)
                    if not writers[-1].has_room_for(own, len(kept), LARGEST_SEGMENT):
                        writers.append(self._writer(own.base_offset))
                        aborted.append([])
                    writers[-1].add(own, kept)
                    aborted[-1] += self._transactions.take_kept_aborted()
                    self.bytes_written += len(kept)
                    self._pace.spend(len(kept), 0)
            return tuple(
                writer.finish(transactions, group[-1].modified_ms)
                for writer, transactions in zip(writers, aborted, strict=True)
            )
        except BaseException:
            for writer in writers:
                writer.discard()
            raise

    def _writer(self, base_offset: int) -> CleanedWriter:
        return CleanedWriter(
            self._pool,
            self.plan.directory,
            base_offset,
            index_interval_bytes=self.plan.index_interval_bytes,
        )

    def _batches(self, view: SegmentView) -> Iterator[tuple[BatchHeader, Buffer]]:
        """Every batch of a segment; CorruptMessage at one that is damaged."""
        end = view.size_bytes
        with self._pool.open_private(view.path) as file:
            start, window = 0, memoryview(b"")
            position = 0
            while position < end:
                at = position - start
                header = read_header(window, at) if at + HEADER_SIZE <= len(window) else None
                if header is not None:
                    check_framing(header)
                size = HEADER_SIZE if header is None else header.size_bytes
                if position + size > end:
                    raise CorruptMessage(f"{view.path} ends within the batch at {position}.")
                if header is None or at + size > len(window):
                    window = memoryview(
                        file.read(position, max(size, min(_READ_BYTES, end - position)))
                    )
                    start = position
                    if len(window) < size:
                        raise CorruptMessage(f"{view.path} is shorter than {end} bytes.")
                    continue
                batch = window[at : at + size]
                if not crc_is_valid(batch, header):
                    raise CorruptMessage(f"{view.path} is damaged at {position}.")
                self.bytes_read += size
                self._pace.spend(size, header.count)
                yield header, batch
                position += size

"""Making a log shorter: deleted records, retention, truncation, compaction's replacement.

Functions of `Log`, kept apart for length.  Loop thread only.  Segments that leave the log are
renamed to `.deleted` at once and put into `log.deleted`; the manager removes them later, so that
answers on their way to a client keep their files for a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import OffsetOutOfRange
from barnabas.storage.replay import rebuild_producers
from barnabas.storage.segment import Segment
from barnabas.storage.segment_files import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    TXN_INDEX,
    free_suffix,
    segment_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.storage.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentView:
    """A closed segment as a worker may see it: nothing of it changes while it is in the log.

    Retention may rename its files to `.deleted` meanwhile; `replace_segments` notices.
    """

    base_offset: int
    next_base_offset: int
    directory: str
    path: str
    size_bytes: int
    largest_timestamp: int
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedSegment:
    """A segment that compaction wrote: its files are durable and end in `.cleaned`.

    `<base>.log.cleaned`, `.index.cleaned`, `.timeindex.cleaned`, and `.txnindex.cleaned` if it has
    aborted transactions.
    """

    base_offset: int
    size_bytes: int
    modified_ms: int
    """When the newest of the segments it replaces was written; becomes the file's own time."""


def drop(log: Log, segments: list[Segment]) -> None:
    """Take segments out of the log; others must be left."""
    if not segments:
        return
    log.segments.remove(segments)
    log.forget_places()
    for segment in segments:
        segment.rename_to(free_suffix(log.pool, segment.directory, segment.base_offset, DELETED))
    log.deleted += segments
    for segment in segments:
        _drop_snapshot(log, segment.base_offset)


def _drop_snapshot(log: Log, offset: int) -> None:
    if offset in log.snapshots:
        log.snapshots.remove(offset)
        log.pool.remove(segment_path(log.directory, offset, SNAPSHOT))


def move_start(log: Log, offset: int) -> None:
    """The log begins at `offset` from now on."""
    if offset <= log.start_offset:
        return
    log.start_offset = offset
    log.high_watermark = max(log.high_watermark, offset)
    log.epochs.cut_start(offset)
    log.producers.started_at(offset)


def delete_records_before(log: Log, offset: int) -> int:
    if offset > log.high_watermark or offset < 0:
        raise OffsetOutOfRange(
            f"Records can be deleted up to the high watermark, {log.high_watermark}, not {offset}."
        )
    move_start(log, offset)
    drop(log, _droppable(log, _is_before_start(log)))
    return log.start_offset


# Retention.


def enforce_retention(log: Log, now_ms: int) -> int:
    log.write_now()
    dropped = _retain(log, _is_before_start(log), now_ms)
    if log.config.is_deleted:
        dropped += _retain(log, _is_too_much(log), now_ms)
        dropped += _retain(log, _is_too_old(log, now_ms), now_ms)
    return dropped


def _retain(log: Log, is_due: Callable[[Segment], bool], now_ms: int) -> int:
    doomed = _droppable(log, is_due)
    if not doomed:
        return 0
    if len(doomed) == len(log.segments):
        log.roll(now_ms)  # the log goes on in a new, empty segment
    drop(log, doomed)
    move_start(log, log.segments.first.base_offset)
    return len(doomed)


def _droppable(log: Log, is_due: Callable[[Segment], bool]) -> list[Segment]:
    """The oldest segments, as long as they are due, below the high watermark and not empty."""
    doomed: list[Segment] = []
    for segment in log.segments:
        end = log.segments.next_base(segment, log.end_offset)
        empty = not segment.is_closed and segment.size_bytes == 0
        if empty or end > log.high_watermark or not is_due(segment):
            break
        doomed.append(segment)
    return doomed


def _is_before_start(log: Log) -> Callable[[Segment], bool]:
    return lambda segment: (
        segment.is_closed and log.segments.next_base(segment, log.end_offset) <= log.start_offset
    )


def _is_too_old(log: Log, now_ms: int) -> Callable[[Segment], bool]:
    kept_ms = log.config.retention_ms
    return lambda segment: kept_ms >= 0 and now_ms - segment.largest_timestamp() > kept_ms


def _is_too_much(log: Log) -> Callable[[Segment], bool]:
    kept = log.config.retention_bytes
    surplus = log.size_bytes - kept if kept >= 0 else -1

    def is_due(segment: Segment) -> bool:
        nonlocal surplus
        surplus -= segment.size_bytes
        return surplus >= 0

    return is_due


# Truncation.


def truncate_to(log: Log, offset: int) -> bool:
    assert not log.is_dirty, "write or take back what is queued before truncating"
    if offset >= log.end_offset:
        log.epochs.cut_end(offset)  # one that appended nothing may be at the very end
        return False
    offset = max(offset, log.start_offset)
    if offset <= log.segments.first.base_offset:
        reset_to(log, offset, now_ms=log.segments.active.created_ms)
        return True
    number = log.segments.number_at(offset - 1)  # it keeps at least one offset
    segment = log.segments[number]
    for later in [*log.segments][number + 1 :]:
        _remove_now(log, later)
    place = segment.locate(offset, segment.size_bytes)
    position = segment.size_bytes if place is None else place[0]
    segment.cut(position, offset)
    end = _end_of(segment)
    if end < log.start_offset:  # the batch that holds the start is gone
        reset_to(log, log.start_offset, now_ms=segment.created_ms)
    else:
        _ended_at(log, end)
    return True


def _end_of(segment: Segment) -> int:
    end = segment.base_offset
    last = segment.index.last()
    for _, header in segment.headers(last[1] if last else 0):
        end = header.next_offset
    return end


def _remove_now(log: Log, segment: Segment) -> None:
    """What is truncated must not come back after a crash: no `.deleted` in between."""
    log.segments.remove([segment])
    segment.close()
    segment.file.delete()
    for path in segment.all_paths():
        log.pool.remove(path)


def _ended_at(log: Log, offset: int) -> None:
    log.generation += 1
    log.end_offset = log.written_end_offset = offset
    log.high_watermark = min(log.high_watermark, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.epochs.cut_end(offset)
    for snapshot in [each for each in log.snapshots if each > offset]:
        _drop_snapshot(log, snapshot)
    rebuild_producers(log.producers, log.pool, log.segments, log.snapshots, end_offset=offset)
    log.producers.replicated_to(log.high_watermark)
    log.forget_places()


def reset_to(log: Log, offset: int, *, now_ms: int) -> None:
    assert not log.is_dirty, "write or take back what is queued before truncating"
    old = list(log.segments)
    for snapshot in list(log.snapshots):
        _drop_snapshot(log, snapshot)
    for segment in old:
        segment.close()
        segment.file.delete()
        for path in segment.all_paths():
            log.pool.remove(path)
    new = Segment.create(
        log.pool,
        log.cache,
        log.directory,
        offset,
        index_interval=log.config.index_interval_bytes,
        now_ms=now_ms,
    )
    log.segments.replace(old, [new])
    log.generation += 1
    log.start_offset = log.end_offset = log.written_end_offset = offset
    log.high_watermark = log.recovery_point = offset
    log.epochs.clear()
    log.producers.load([], offset)
    log.forget_places()


# Compaction.


def cleanable_segments(log: Log) -> list[SegmentView]:
    """Closed segments, oldest first, all of whose records are replicated and decided."""
    bound = log.last_stable_offset
    views: list[SegmentView] = []
    for segment in log.segments:
        end = log.segments.next_base(segment, log.end_offset)
        if not segment.is_closed or end > bound:
            break
        segment.know_timestamps()
        views.append(
            SegmentView(
                base_offset=segment.base_offset,
                next_base_offset=end,
                directory=segment.directory,
                path=segment.file.path,
                size_bytes=segment.size_bytes,
                largest_timestamp=segment.largest_timestamp(),
                modified_ms=segment.modified_ms(),
            )
        )
    return views


def replace_segments(log: Log, new: list[CleanedSegment], old: list[SegmentView]) -> bool:
    """Put compacted segments where `old` ones, a run of the log's, were.

    False, and the new files are removed, if one of the old is not in the log any more.  A crash in
    between loses nothing: recovery finishes a swap whose `.swap` files are all there.
    """
    bases = {segment.base_offset: segment for segment in log.segments if segment.is_closed}
    leaving = [bases.get(view.base_offset) for view in old]
    present = [segment for segment in leaving if segment is not None]
    if len(present) != len(old) or not new or any(s.directory != log.directory for s in present):
        for cleaned in new:
            for kind in SEGMENT_SUFFIXES:
                log.pool.remove(segment_path(log.directory, cleaned.base_offset, kind) + CLEANED)
        return False
    for cleaned in reversed(new):
        for kind in reversed(SEGMENT_SUFFIXES):  # the .log last: only it makes a swap count
            path = segment_path(log.directory, cleaned.base_offset, kind)
            log.pool.rename_if_there(path + CLEANED, path + SWAP)
    kept_snapshots = {cleaned.base_offset for cleaned in new}
    for segment in present:
        segment.rename_to(free_suffix(log.pool, segment.directory, segment.base_offset, DELETED))
        if segment.base_offset not in kept_snapshots:
            _drop_snapshot(log, segment.base_offset)
    log.deleted += present
    swapped = []
    for cleaned in new:
        has_aborted = False
        for kind in reversed(SEGMENT_SUFFIXES):
            path = segment_path(log.directory, cleaned.base_offset, kind)
            renamed = log.pool.rename_if_there(path + SWAP, path)
            has_aborted |= renamed and kind == TXN_INDEX
        log.pool.set_mtime(
            segment_path(log.directory, cleaned.base_offset, LOG), cleaned.modified_ms
        )
        swapped.append(
            Segment(
                log.pool,
                log.cache,
                log.directory,
                cleaned.base_offset,
                size_bytes=cleaned.size_bytes,
                index_interval=log.config.index_interval_bytes,
                has_aborted=has_aborted,
            )
        )
    log.segments.replace(present, swapped)
    log.forget_places()
    return True

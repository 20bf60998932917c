"""What a log manager does as time passes: retention, flushes, checkpoints, removal, expiry.

Decided here on the loop thread; anything that may take long is done by a worker.
"""

from __future__ import annotations

import heapq
import logging
from collections import deque
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.storage import checkpoint
from barnabas.storage.fs import is_disk_full

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.storage.directory import LogDirectory
    from barnabas.storage.flushing import FlushJob
    from barnabas.storage.log import Log
    from barnabas.storage.manager import LogManager

_NEVER = (1 << 63) - 1
_RETAINED_AT_ONCE = 100
_FLUSHED_AT_ONCE = 32
"""Each flush under way holds a descriptor, and there may be more logs than descriptors."""
GRACE_MS = 2_000
"""The least delay of a removal, whatever is configured: an answer may be about to be sent from the
file.  More than a tick, as `now_ms` may be as old as the last one."""
_logger = logging.getLogger(__name__)


class Housekeeping:
    """The periodic work of one `LogManager`."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._removals: list[tuple[int, int, Callable[[], None], Callable[[], None]]] = []
        self._counter = 0
        self._due: dict[str, int] = {}
        self._to_retain: deque[Log] = deque()
        self._to_flush: deque[tuple[Log, bool]] = deque()
        self._flushing: set[Log] = set()
        """Those in `_to_flush` and those under way."""
        self._is_starting_flushes = False
        self._writing: set[tuple[str, str]] = set()

    def tick(self, now_ms: int) -> None:
        settings = self._manager.settings
        if self._is_due("retention", settings.retention_check_ms, now_ms):
            self._to_retain.extend(self._manager.logs.values())
        self._retain_some(now_ms)
        if self._is_due("producers", settings.producer_check_ms, now_ms):
            self._for_each_log(lambda log: self._expire(log, now_ms))
        self._for_each_log(lambda log: self._look_after(log, now_ms))
        self._flush_some()
        self._checkpoint(now_ms)
        self._remove_due(now_ms)

    def _is_due(self, what: str, period_ms: int, now_ms: int) -> bool:
        """True once a period; the first period begins with the first tick."""
        due = self._due.setdefault(what, now_ms + period_ms)
        if now_ms < due:
            return False
        self._due[what] = now_ms + period_ms
        return True

    def _for_each_log(self, work: Callable[[Log], object]) -> None:
        for directory in self._manager.usable_directories():
            for log in list(directory.logs.values()):
                try:
                    work(log)
                except StorageFailed as failure:
                    self._failed(directory, failure)
                    if directory.failure is not None:
                        break

    def _retain_some(self, now_ms: int) -> None:
        """A part at a time: the first look at a log may have to read from its files."""
        for _ in range(min(len(self._to_retain), _RETAINED_AT_ONCE)):
            log = self._to_retain.popleft()
            if self._manager.get(log.topic, log.partition) is log:
                try:
                    log.enforce_retention(now_ms)
                except StorageFailed as failure:
                    self._failed(self._manager.directory_of(log), failure)

    def _failed(self, directory: LogDirectory, failure: StorageFailed) -> None:
        if is_disk_full(failure):
            _logger.error("%s", failure)  # may pass: the next tick tries again
        else:
            self._manager.fail_directory(directory, failure)

    def _expire(self, log: Log, now_ms: int) -> None:
        log.write_now()
        log.producers.expire(now_ms, self._manager.settings.producer_expiration_ms)

    def _look_after(self, log: Log, now_ms: int) -> None:
        """Flush what is due, and see to the removal of what left the log."""
        if log.deleted:
            self._remove_segments_later(log, now_ms)
        unflushed_closed = log.segments.active.base_offset > log.recovery_point
        is_due = log.config.flush_ms < _NEVER and now_ms - log.last_flush_ms >= log.config.flush_ms
        if (unflushed_closed or is_due) and log not in self._flushing:
            if is_due:
                log.last_flush_ms = now_ms
            self._flushing.add(log)
            self._to_flush.append((log, not is_due))

    def _flush_some(self) -> None:
        """Begin with as many flushes as may be under way; the others follow when those are done."""
        if self._is_starting_flushes:
            return
        self._is_starting_flushes = True
        try:
            while self._to_flush and len(self._flushing) - len(self._to_flush) < _FLUSHED_AT_ONCE:
                log, closed_only = self._to_flush.popleft()
                if not self._begin_flush(log, closed_only=closed_only):
                    self._flushing.discard(log)
        finally:
            self._is_starting_flushes = False

    def _begin_flush(self, log: Log, *, closed_only: bool) -> bool:
        if self._manager.get(log.topic, log.partition) is not log:
            return False
        try:
            job = log.flush_job(closed_only=closed_only)
        except StorageFailed as failure:
            self._failed(self._manager.directory_of(log), failure)
            return False
        if job is None:
            return False
        self._manager.workers.submit(job.run, self._flush_done(log, job))
        return True

    def _flush_done(self, log: Log, job: FlushJob) -> Callable[[Exception | None], None]:
        directory = self._manager.directory_of(log)

        def done(error: Exception | None) -> None:
            self._flushing.discard(log)
            if error is None:
                log.flushed(job)
            elif directory.logs.get((log.topic, log.partition)) is log:  # and not moved meanwhile
                self._report(directory, error)
            self._flush_some()

        return done

    def _report(self, directory: LogDirectory, error: Exception) -> None:
        if isinstance(error, StorageFailed):
            self._failed(directory, error)
        else:
            _logger.error("Disk work in %s failed.", directory.path, exc_info=error)

    # Checkpoints.

    def _checkpoint(self, now_ms: int) -> None:
        settings = self._manager.settings
        points = self._is_due("recovery points", settings.checkpoint_ms, now_ms)
        watermarks = self._is_due("watermarks", settings.high_watermark_checkpoint_ms, now_ms)
        for directory in self._manager.usable_directories():
            self._checkpoint_soon(directory, checkpoint.LOG_STARTS, directory.log_starts())
            if points:
                self._checkpoint_soon(
                    directory, checkpoint.RECOVERY_POINTS, directory.recovery_points()
                )
            if watermarks:
                self._checkpoint_soon(
                    directory, checkpoint.HIGH_WATERMARKS, directory.high_watermarks()
                )

    def _checkpoint_soon(
        self, directory: LogDirectory, name: str, offsets: dict[tuple[str, int], int]
    ) -> None:
        key = directory.path, name
        if key in self._writing or not directory.checkpoint_is_stale(name, offsets):
            return
        self._writing.add(key)

        def done(error: Exception | None) -> None:
            self._writing.discard(key)
            if error is not None:
                self._report(directory, error)
            else:
                directory.checkpoint_written(name, offsets)

        self._manager.workers.submit(directory.begin_checkpoint(name, offsets), done)

    def write_checkpoints(self, directory: LogDirectory) -> None:
        """All of them, now."""
        directory.write_checkpoint(checkpoint.RECOVERY_POINTS, directory.recovery_points())
        directory.write_checkpoint(checkpoint.HIGH_WATERMARKS, directory.high_watermarks())
        directory.write_checkpoint(checkpoint.LOG_STARTS, directory.log_starts())

    # Removal.

    def remove_directory_later(self, path: str, due_ms: int, log: Log | None = None) -> None:
        pool = self._manager.pool
        self._later(
            due_ms,
            log.abandon if log is not None else lambda: None,
            lambda: pool.remove_tree(path),
        )

    def _remove_segments_later(self, log: Log, now_ms: int) -> None:
        segments, log.deleted = log.deleted, []
        pool = self._manager.pool

        def close() -> None:
            for segment in segments:
                segment.close()

        def remove() -> None:
            for segment in segments:
                for path in segment.all_paths():
                    pool.remove(path)

        self._later(now_ms + max(log.config.file_delete_delay_ms, GRACE_MS), close, remove)

    def _later(self, due_ms: int, close: Callable[[], None], remove: Callable[[], None]) -> None:
        self._counter += 1
        heapq.heappush(self._removals, (due_ms, self._counter, close, remove))

    def _remove_due(self, now_ms: int) -> None:
        while self._removals and self._removals[0][0] <= now_ms:
            _, _, close, remove = heapq.heappop(self._removals)
            close()
            self._manager.workers.submit(remove, _log_failure)


def _log_failure(error: Exception | None) -> None:
    if error is not None:
        _logger.error("Could not remove deleted files: %s", error)

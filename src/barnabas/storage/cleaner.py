"""The log cleaner: compacts, one after the other, the logs whose topics ask for it.

Everything here runs on the loop thread; a worker thread only runs the steps of a `CleaningJob`.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.storage import checkpoint, log_trim
from barnabas.storage.cleaner_job import CleaningJob, CleaningPlan, CleaningStopped, Pace
from barnabas.storage.cleaner_select import assess, largest_group_bytes
from barnabas.storage.cleaner_writer import remove_cleaned
from barnabas.storage.compaction import LastRecord
from barnabas.storage.fs import is_disk_full

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from barnabas.base.clock import Clock
    from barnabas.base.settings import BrokerConfig
    from barnabas.storage.checkpoint import Partition
    from barnabas.storage.cleaner_select import Assessment
    from barnabas.storage.fs import FilePool
    from barnabas.storage.log import Log
    from barnabas.storage.workers import Workers

_Identity = tuple[str, int, bytes]
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings:
    """Broker settings of the cleaner; those of topics are in `LogConfig`."""

    enabled: bool = True
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 128 << 20
    load_factor: float = 0.9
    max_bytes_per_second: float = float("inf")

    @classmethod
    def of(cls, config: BrokerConfig) -> CleanerSettings:
        return cls(
            enabled=config.bool("log.cleaner.enable"),
            backoff_ms=config.int("log.cleaner.backoff.ms"),
            dedupe_buffer_bytes=config.int("log.cleaner.dedupe.buffer.size"),
            load_factor=config.float("log.cleaner.io.buffer.load.factor"),
            max_bytes_per_second=config.float("log.cleaner.io.max.bytes.per.second"),
        )


@dataclass(slots=True, kw_only=True)
class _Running:
    """The job under way, and how the log was when it began."""

    log: Log
    job: CleaningJob
    directory: str
    generation: int
    started: float
    is_stale: bool = False
    """The log was moved: what was written is where it was, even if it has come back since."""


class Cleaner:
    """Compacts logs in the background, one at a time.  Loop thread only.

    A log is compacted up to the offset in its directory's `cleaner-offset-checkpoint`, and dirty
    from there.  The checkpoint is only ever too low: then something is compacted again.
    """

    def __init__(
        self,
        pool: FilePool,
        workers: Workers,
        *,
        settings: CleanerSettings,
        clock: Clock,
        on_failure: Callable[[Log, StorageFailed], None],
    ) -> None:
        """`workers`: a thread of the cleaner's own, as its work may take hours.

        `on_failure`: the disk refused; not called for a disk that is merely full.
        """
        self.settings = settings
        self._pool = pool
        self._workers = workers
        self._clock = clock
        self._on_failure = on_failure
        self._stop = threading.Event()
        self._running: _Running | None = None
        self._due_ms = 0
        self._offsets: dict[str, dict[Partition, int]] = {}
        self._known: dict[Partition, tuple[bytes, int]] = {}  # which log a checkpoint is about
        self._uncleanable: set[_Identity] = set()

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def is_uncleanable(self, log: Log) -> bool:
        """A batch of it could not be read: it is left alone until the next start."""
        return _identity(log) in self._uncleanable

    def tick(self, logs: Iterable[Log], now_ms: int) -> None:
        """Begin with the dirtiest log if nothing is under way and one is due."""
        if self._running is not None or not self.settings.enabled or now_ms < self._due_ms:
            return
        best: tuple[float, Log, Assessment] | None = None
        for log in list(logs):  # one that cannot be read may take others with it
            found = self._try_to_assess(log, now_ms)
            if found is not None and (best is None or found.dirty_ratio > best[0]):
                best = found.dirty_ratio, log, found
        if best is None:
            self._due_ms = now_ms + self.settings.backoff_ms
        else:
            self._begin(best[1], best[2], now_ms)

    def forget(self, log: Log) -> None:
        """The log was deleted or moved aside: nothing known of it holds for one of its name."""
        self._uncleanable.discard(_identity(log))
        key = log.topic, log.partition
        self._known.pop(key, None)
        for directory, offsets in self._offsets.items():
            if offsets.pop(key, None) is not None:
                self._write_checkpoint(directory)

    def moved(self, log: Log, source: str) -> None:
        """The log was in the log directory `source`: what is known of it goes with it."""
        if self._running is not None and self._running.log is log:
            self._running.is_stale = True
        key = log.topic, log.partition
        offset = self._offsets_in(source).pop(key, None)
        if offset is not None:
            self._checkpoint_of(log)[key] = offset
            self._write_checkpoint(_parent(log.directory))
            self._write_checkpoint(source)

    def close(self) -> None:
        """Give up what is under way and wait for the worker; what it wrote is removed.

        Nothing is put into a log any more, also not what the loop is told of later.
        """
        self._stop.set()
        self._workers.close()
        if self._running is not None:
            self._discard(self._running)
            self._running = None

    # Choosing.

    def clean_offset(self, log: Log) -> int:
        """Everything below is compacted."""
        key = log.topic, log.partition
        now = log.topic_id, log.generation
        offset = self._checkpoint_of(log).get(key, 0)
        another = self._known.setdefault(key, now) != now  # truncated, or a topic made anew
        if another or not log.start_offset <= offset <= log.end_offset:
            return log.start_offset
        return offset

    def _checkpoint_of(self, log: Log) -> dict[Partition, int]:
        return self._offsets_in(_parent(log.directory))

    def _offsets_in(self, directory: str) -> dict[Partition, int]:
        offsets = self._offsets.get(directory)
        if offsets is None:
            path = f"{directory}/{checkpoint.CLEANER_OFFSETS}"
            offsets = self._offsets[directory] = checkpoint.read_offsets(self._pool, path)
        return offsets

    def _try_to_assess(self, log: Log, now_ms: int) -> Assessment | None:
        """A log that cannot even be looked at must not keep the others from being compacted."""
        try:
            return self._assess(log, now_ms)
        except Exception as failure:
            self._cannot_clean(log, f"{log.topic}-{log.partition}", failure)
            return None

    def _assess(self, log: Log, now_ms: int) -> Assessment | None:
        config = log.config
        if not config.is_compacted or len(log.segments) < 2 or self.is_uncleanable(log):
            return None
        views = log_trim.cleanable_segments(log)
        timestamps = {segment.base_offset: segment.first_timestamp for segment in log.segments}
        found = assess(
            views,
            first_dirty_offset=self.clean_offset(log),
            first_timestamp=lambda view: timestamps[view.base_offset],
            config=config,
            now_ms=now_ms,
        )
        if found is None or not found.is_due(config.min_cleanable_dirty_ratio):
            return None
        return found

    # Running.

    def _begin(self, log: Log, found: Assessment, now_ms: int) -> None:
        config, settings = log.config, self.settings
        plan = CleaningPlan(
            name=f"{log.topic}-{log.partition}",
            directory=log.directory,
            segments=found.segments,
            first_dirty_offset=found.first_dirty_offset,
            upper_bound=found.upper_bound,
            aborted=tuple(each for segment in log.segments for each in segment.aborted()),
            last_records={
                entry.producer_id: LastRecord(
                    entry.producer_epoch, entry.batches[-1].last_offset if entry.batches else None
                )
                for entry in log.active_producers()
            },
            map_bytes=int(settings.dedupe_buffer_bytes * settings.load_factor),
            group_bytes=largest_group_bytes(config),
            index_interval_bytes=config.index_interval_bytes,
            delete_retention_ms=config.delete_retention_ms,
            now_ms=now_ms,
        )
        pace = Pace(settings.max_bytes_per_second, monotonic=self._clock.monotonic, stop=self._stop)
        running = _Running(
            log=log,
            job=CleaningJob(plan, self._pool, pace),
            directory=log.directory,
            generation=log.generation,
            started=self._clock.monotonic(),
        )
        self._running = running
        self._workers.submit(running.job.step, self._stepped)

    def _stepped(self, error: Exception | None) -> None:
        """A worker did a step: put what it wrote into the log, and go on."""
        if self._stop.is_set():
            return
        running = self._running
        assert running is not None, "a step without a job"
        try:
            if error is not None:
                raise error
            if not self._put_into_log(running):
                _logger.info("%s changed while it was compacted: given up.", running.job.plan.name)
            elif running.job.is_done:
                self._finish(running)
            else:
                self._workers.submit(running.job.step, self._stepped)
                return
        except CleaningStopped:
            pass
        except Exception as failure:
            self._fail(running, failure)
        self._running = None

    def _put_into_log(self, running: _Running) -> bool:
        """False if the log is not what it was when the job began."""
        log, job = running.log, running.job
        if running.is_stale or log.generation != running.generation or _is_elsewhere(running):
            self._discard(running)
            return False
        if not job.replaced:
            return True
        return log_trim.replace_segments(log, list(job.cleaned), list(job.replaced))

    def _discard(self, running: _Running) -> None:
        """Remove what the last step wrote, if it is not in the log."""
        for cleaned in running.job.cleaned:
            remove_cleaned(self._pool, running.directory, cleaned.base_offset)

    def _finish(self, running: _Running) -> None:
        log, job = running.log, running.job
        key = log.topic, log.partition
        self._checkpoint_of(log)[key] = job.end_offset
        self._known[key] = log.topic_id, log.generation
        self._write_checkpoint(_parent(log.directory))
        _logger.info(
            "Compacted %s up to offset %d: read %d bytes, wrote %d, in %.1f s.",
            job.plan.name,
            job.end_offset,
            job.bytes_read,
            job.bytes_written,
            self._clock.monotonic() - running.started,
        )

    def _write_checkpoint(self, directory: str) -> None:
        path = f"{directory}/{checkpoint.CLEANER_OFFSETS}"
        offsets = dict(self._offsets[directory])
        self._workers.submit(
            lambda: checkpoint.write_offsets(self._pool, path, offsets), _checkpointed(path)
        )

    def _fail(self, running: _Running, failure: Exception) -> None:
        log, name = running.log, running.job.plan.name
        is_gone = isinstance(failure.__cause__, FileNotFoundError)
        if isinstance(failure, StorageFailed) and (_is_elsewhere(running) or is_gone):
            self._due_ms = self._clock.now_ms() + self.settings.backoff_ms
            _logger.info("%s changed while it was compacted: given up.", name)
        else:
            self._cannot_clean(log, name, failure)

    def _cannot_clean(self, log: Log, name: str, failure: Exception) -> None:
        self._due_ms = self._clock.now_ms() + self.settings.backoff_ms
        if not isinstance(failure, StorageFailed):
            _logger.error("%s cannot be compacted.", name, exc_info=failure)
            self._uncleanable.add(_identity(log))
        elif is_disk_full(failure):
            _logger.error("%s could not be compacted: %s", name, failure)
        else:
            self._on_failure(log, failure)


def _is_elsewhere(running: _Running) -> bool:
    return running.log.directory != running.directory


def _identity(log: Log) -> _Identity:
    return log.topic, log.partition, log.topic_id


def _parent(directory: str) -> str:
    return directory.rpartition("/")[0]


def _checkpointed(path: str) -> Callable[[Exception | None], None]:
    def done(error: Exception | None) -> None:
        if error is not None:
            _logger.error("Could not write %s: %s", path, error)

    return done

"""All logs of a broker: where they are, opening, deleting, checkpoints and periodic work."""

from __future__ import annotations

import logging
import os.path
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import LogDirNotFound, StorageFailed
from barnabas.base.ids import NO_ID, random_id
from barnabas.storage import checkpoint
from barnabas.storage.directory import DirectoryRefused, LogDirectory, log_name
from barnabas.storage.flushing import flush_all
from barnabas.storage.fs import FilePool, is_disk_full
from barnabas.storage.housekeeping import GRACE_MS, Housekeeping
from barnabas.storage.index import IndexCache
from barnabas.storage.moving import Moves, finish_moves
from barnabas.storage.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.recovery import open_log
from barnabas.storage.workers import InlineWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.base.settings import BrokerConfig
    from barnabas.storage.config import LogConfig
    from barnabas.storage.log import Log
    from barnabas.storage.workers import Workers

_LONGEST_NAME = 255
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Broker settings that storage goes by."""

    directories: tuple[str, ...]
    retention_check_ms: int = 300_000
    checkpoint_ms: int = 60_000
    high_watermark_checkpoint_ms: int = 5_000
    producer_expiration_ms: int = 86_400_000
    producer_check_ms: int = 600_000
    delete_delay_ms: int = 60_000
    move_bytes_per_second: float = float("inf")

    @classmethod
    def of(cls, config: BrokerConfig) -> StorageSettings:
        return cls(
            directories=config.log_dirs,
            retention_check_ms=config.int("log.retention.check.interval.ms"),
            checkpoint_ms=config.int("log.flush.offset.checkpoint.interval.ms"),
            high_watermark_checkpoint_ms=config.int(
                "replica.high.watermark.checkpoint.interval.ms"
            ),
            producer_expiration_ms=config.int("producer.id.expiration.ms"),
            producer_check_ms=config.int("producer.id.expiration.check.interval.ms"),
            delete_delay_ms=config.int("log.segment.delete.delay.ms"),
            move_bytes_per_second=_move_rate(config),
        )


def _move_rate(config: BrokerConfig) -> float:
    rate = config.optional_int("replica.alter.log.dirs.io.max.bytes.per.second")
    return float("inf") if rate is None else rate


class LogManager:
    """The logs of one broker.  Loop thread only; slow work goes to `workers`.

    `take` and `load` once, then `open` and `delete` as metadata says, `tick` every second or so,
    `close` last.
    """

    def __init__(
        self,
        settings: StorageSettings,
        *,
        node_id: int,
        cluster_id: str | None,
        workers: Workers | None = None,
        pool: FilePool | None = None,
    ) -> None:
        self.settings = settings
        self.pool = pool or FilePool()
        self.cache = IndexCache()
        self.workers: Workers = workers or InlineWorkers()
        self.directories = [
            LogDirectory(self.pool, path) for path in dict.fromkeys(settings.directories)
        ]
        self.logs: dict[tuple[str, int], Log] = {}
        self.on_directory_failed: Callable[[LogDirectory], None] = lambda directory: None
        self.on_log_gone: Callable[[Log], None] = lambda log: None
        """Told of each log that was deleted or moved aside."""
        self.on_log_moved: Callable[[Log, LogDirectory], None] = lambda log, source: None
        """Told of each log that is in another directory now, and where it was."""
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._now_ms = 0
        self._is_taken = False
        self.housekeeping = Housekeeping(self)
        self.moves = Moves(self)
        self._preferred: dict[tuple[str, int], LogDirectory] = {}
        """Where logs that are not here yet are to be made."""

    # Starting and stopping.

    def take(self) -> None:
        """Take the directories: from now on nobody else changes what is in them.

        DirectoryRefused if one belongs to somebody else.  A directory that is broken is left out;
        StorageFailed if all are.
        """
        self._is_taken = True
        try:
            for directory in self.directories:
                try:
                    directory.open(cluster_id=self._cluster_id, node_id=self._node_id)
                except StorageFailed as failure:
                    self.fail_directory(directory, failure)
            self._check_usable()
        except BaseException:
            self.give_back()
            raise

    def load(
        self,
        now_ms: int,
        config_for: Callable[[str], LogConfig],
        *,
        is_only_copy: Callable[[str, int], bool] = lambda topic, partition: False,
    ) -> None:
        """Open every log in the directories, recovering where that is needed.

        `is_only_copy`: whether no other replica of a partition is in sync.  Takes the directories
        first if that was not done, and raises what `take` does.
        """
        if not self._is_taken:
            self.take()
        self._now_ms = now_ms
        try:
            unfinished = self._finish_moves()
            for directory in self.usable_directories():
                self._load_directory(directory, now_ms, config_for, is_only_copy)
            self._check_usable()
        except BaseException:
            self.give_back()
            raise
        for key, directory in unfinished.items():
            if key in self.logs:
                self.moves.begin(self.logs[key], directory)

    def _finish_moves(self) -> dict[tuple[str, int], LogDirectory]:
        usable = self.usable_directories()
        try:
            return finish_moves(self.pool, usable, is_whole=len(usable) == len(self.directories))
        except StorageFailed as failure:  # what is in the broken one is found when it is loaded
            _logger.error("Moves between log directories could not be finished: %s", failure)  # noqa: TRY400
            return {}

    def give_back(self) -> None:
        """Let others have the directories; nothing is written."""
        for directory in self.directories:
            directory.close()

    def _check_usable(self) -> None:
        if not self.usable_directories():
            failures = "; ".join(str(each.failure) for each in self.directories)
            raise StorageFailed(f"no log directory can be used: {failures}")

    def _load_directory(
        self,
        directory: LogDirectory,
        now_ms: int,
        config_for: Callable[[str], LogConfig],
        is_only_copy: Callable[[str, int], bool],
    ) -> None:
        try:
            names = self.pool.list_directories(directory.path)
            points = directory.read_checkpoint(checkpoint.RECOVERY_POINTS)
            watermarks = directory.read_checkpoint(checkpoint.HIGH_WATERMARKS)
            starts = directory.read_checkpoint(checkpoint.LOG_STARTS)
            compacted = directory.read_checkpoint(checkpoint.CLEANER_OFFSETS)
            for name in names:
                path = f"{directory.path}/{name}"
                if name.endswith("-delete"):
                    self.housekeeping.remove_directory_later(path, now_ms)
                    continue
                match = log_name(name)
                if match is None:
                    continue
                key = match["topic"], int(match["partition"])
                if key in self.logs:
                    raise DirectoryRefused(
                        f"{name} is in {self.logs[key].directory} and in {path}: move one away."
                    )
                log = open_log(
                    pool=self.pool,
                    cache=self.cache,
                    topic=key[0],
                    partition=key[1],
                    topic_id=read_topic_id(self.pool, path),
                    directory=path,
                    config=config_for(key[0]),
                    now_ms=now_ms,
                    is_clean=directory.was_clean,
                    recovery_point=points.get(key, 0),
                    start_offset=starts.get(key, 0),
                    high_watermark=watermarks.get(key, 0),
                    compacted_to=compacted.get(key, 0),
                    is_only_copy=is_only_copy(*key),
                    producer_expiration_ms=self.settings.producer_expiration_ms,
                )
                self.logs[key] = directory.logs[key] = log
        except StorageFailed as failure:
            self.fail_directory(directory, failure)

    def close(self, *, broker_epoch: int = -1) -> None:
        """Stop cleanly: the next start trusts what it finds, if all logs could be closed."""
        self.moves.close()
        self.workers.close()
        for directory in self.directories:
            if directory.failure is not None:
                directory.close()
                continue
            try:
                flush_all(directory.logs.values())
                for log in directory.logs.values():
                    log.close()
                self.housekeeping.write_checkpoints(directory)
                directory.mark_clean(broker_epoch)
            except StorageFailed as failure:
                _logger.error("%s was not closed cleanly: %s", directory.path, failure)  # noqa: TRY400
            directory.close()
        self.pool.close()

    # Logs.

    def get(self, topic: str, partition: int) -> Log | None:
        return self.logs.get((topic, partition))

    def usable_directories(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.failure is None]

    def directory_of(self, log: Log) -> LogDirectory:
        parent = log.directory.rpartition("/")[0]
        return next(each for each in self.directories if each.path == parent)

    def open(self, topic: str, partition: int, topic_id: bytes, config: LogConfig) -> Log:
        """The log of a partition that the metadata gives to this broker; made if there is none.

        One that belongs to an earlier topic of the same name is moved aside.
        """
        log = self.logs.get((topic, partition))
        if log is None:
            return self.create(topic, partition, topic_id, config)
        if log.topic_id not in (topic_id, NO_ID):
            _logger.warning("%s belongs to an earlier topic: moved aside.", log.directory)
            self.move_aside(log)
            return self.create(topic, partition, topic_id, config)
        if log.topic_id == NO_ID and topic_id != NO_ID:
            write_topic_id(self.pool, log.directory, topic_id)
            log.topic_id = topic_id
        log.reconfigure(config)
        return log

    def create(self, topic: str, partition: int, topic_id: bytes, config: LogConfig) -> Log:
        """A new log, in the directory that was asked for or else in the one that has the fewest."""
        assert (topic, partition) not in self.logs, f"{topic}-{partition} exists"
        usable = self.usable_directories()
        if not usable:
            raise StorageFailed("no log directory can be used")
        directory = self._preferred.pop((topic, partition), None)
        if directory not in usable:
            directory = min(usable, key=lambda each: len(each.logs))
        path = directory.partition_path(topic, partition)
        is_new = not self.pool.exists(path)
        try:
            directory.forget((topic, partition))
            self.pool.make_directory(path)
            if topic_id != NO_ID:
                write_topic_id(self.pool, path, topic_id)
            log = open_log(
                pool=self.pool,
                cache=self.cache,
                topic=topic,
                partition=partition,
                topic_id=topic_id,
                directory=path,
                config=config,
                now_ms=self._now_ms,
                producer_expiration_ms=self.settings.producer_expiration_ms,
            )
        except StorageFailed:
            if is_new:
                self._remove_half_made(path)
            raise
        self.logs[topic, partition] = directory.logs[topic, partition] = log
        return log

    def _remove_half_made(self, path: str) -> None:
        """The next attempt may go to another directory, and a log must not be in two."""
        try:
            self.pool.remove_tree(path)
        except StorageFailed as failure:
            _logger.warning("%s is left over: %s", path, failure)

    def delete(self, log: Log) -> None:
        """Forget a log at once; its directory goes when `log.segment.delete.delay.ms` passed."""
        self.remove_later(self._rename(log, "-delete"), log)

    def move_aside(self, log: Log) -> None:
        """Forget a log, but leave its files for the operator; the directory ends in -stray."""
        self._rename(log, "-stray")
        log.abandon()

    def move_aside_unknown(self, is_known: Callable[[Log], bool]) -> list[str]:
        """Move aside what the metadata does not know; their names."""
        unknown = [log for log in self.logs.values() if not is_known(log)]
        for log in unknown:
            self.move_aside(log)
        return [f"{log.topic}-{log.partition}" for log in unknown]

    def _rename(self, log: Log, suffix: str) -> str:
        directory = self.directory_of(log)
        ending = f"-{log.partition}.{random_id().hex()}{suffix}"
        name = log.topic[: _LONGEST_NAME - len(ending)] + ending
        path = f"{directory.path}/{name}"
        self.pool.rename(log.directory, path)
        log.moved_to(path)
        del self.logs[log.topic, log.partition]
        del directory.logs[log.topic, log.partition]
        self.on_log_gone(log)
        return path

    def directory_at(self, path: str) -> LogDirectory:
        """LogDirNotFound if this broker has no such log directory; StorageFailed if it failed."""
        path = os.path.abspath(path)
        directory = next((each for each in self.directories if each.path == path), None)
        if directory is None:
            raise LogDirNotFound(f"{path} is not in log.dirs")
        if directory.failure is not None:
            raise StorageFailed(f"{path} has failed: {directory.failure}")
        return directory

    def move(self, topic: str, partition: int, directory: LogDirectory) -> bool:
        """Begin to move a log there.  False if it is not here: it is made there when it comes."""
        log = self.logs.get((topic, partition))
        if log is None:
            self._preferred[topic, partition] = directory
            return False
        self.moves.begin(log, directory)
        return True

    def remove_later(self, path: str, log: Log | None = None) -> None:
        """Remove a directory that nobody uses any more, when answers on their way are sent."""
        delay_ms = max(self.settings.delete_delay_ms, GRACE_MS)
        self.housekeeping.remove_directory_later(path, self._now_ms + delay_ms, log)

    def truncate(self, log: Log, offset: int) -> None:
        """`Log.truncate_to`, after which no checkpoint says that what is gone is on the disk."""
        log.truncate_to(offset)
        self.directory_of(log).cut((log.topic, log.partition))

    def reset(self, log: Log, offset: int, *, now_ms: int) -> None:
        """`Log.reset_to`, likewise."""
        log.reset_to(offset, now_ms=now_ms)
        self.directory_of(log).cut((log.topic, log.partition))

    # Failure and time.

    def write_failed(self, log: Log, failure: StorageFailed) -> None:
        """A write to `log` failed.  A full disk may pass; otherwise its directory is given up."""
        if not is_disk_full(failure) and self.logs.get((log.topic, log.partition)) is log:
            self.fail_directory(self.directory_of(log), failure)

    def fail_directory(self, directory: LogDirectory, failure: StorageFailed) -> None:
        """The disk refused: no log of the directory can be used any more."""
        if directory.failure is not None:
            return
        _logger.error("Log directory %s failed: %s", directory.path, failure)
        directory.failure = failure
        for key, log in directory.logs.items():
            del self.logs[key]
            log.abandon()
        directory.logs.clear()
        self.on_directory_failed(directory)

    def tick(self, now_ms: int) -> None:
        """Do what is due: call it about once a second."""
        self._now_ms = now_ms
        self.housekeeping.tick(now_ms)
        self.moves.tick()

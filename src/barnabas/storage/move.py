"""One log on its way to another log directory: what is copied, and what is still to be copied.

Loop thread only, but for the work that `Move.next_work` gives: that is a worker's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.base.ids import random_id
from barnabas.storage.flushing import EPOCH_FILE
from barnabas.storage.partition_metadata import FILE_NAME as TOPIC_ID_FILE
from barnabas.storage.segment_files import LOG, SEGMENT_SUFFIXES, SNAPSHOT, segment_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from barnabas.storage.checkpoint import Partition
    from barnabas.storage.directory import LogDirectory
    from barnabas.storage.fs import FilePool
    from barnabas.storage.log import Log
    from barnabas.storage.segment import Segment

FUTURE = "-future"
_LONGEST_NAME = 255
_PIECE = 4 << 20
_LITTLE = 1 << 20
"""What the loop thread may copy at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Bytes of a log file, for a worker to copy."""

    pool: FilePool
    source: str
    target: str
    position: int
    length: int
    is_first: bool
    is_synced: bool
    """Durable at once, as of a segment that is still written: the loop thread makes the rest of it
    durable, and must not have to wait for all of it."""

    def run(self) -> None:
        with (
            self.pool.open_private(self.source) as old,
            self.pool.open_private(self.target, create=self.is_first) as new,
        ):
            new.write(self.position, [old.read(self.position, self.length)])
            if self.is_synced:
                new.sync()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """Small files, for a worker to copy whole; and what must be durable with them."""

    pool: FilePool
    source: str
    target: str
    names: tuple[str, ...]
    copied: tuple[str, ...] = ()
    """Names of files that were copied before and are not durable yet."""

    def run(self) -> None:
        for name in self.names:
            data = self.pool.read_bytes(f"{self.source}/{name}")
            if data is None:
                self.pool.remove(f"{self.target}/{name}")
            else:
                self.pool.write_bytes(f"{self.target}/{name}", data)
        for name in (*self.names, *self.copied):
            self.pool.sync_path(f"{self.target}/{name}")


class Move:
    """One log on its way to another directory."""

    def __init__(self, log: Log, target: LogDirectory) -> None:
        self.log = log
        self.target = target
        self.stem = f"{log.topic}-{log.partition}.{random_id().hex()}"
        self.path = f"{target.path}/{self.stem}{FUTURE}"
        self.misses = 0
        """How often, one after the other, something was gone when it was to be copied."""
        if len(self.stem) + len(FUTURE) > _LONGEST_NAME:
            raise StorageFailed(f"the name of {log.directory} is too long to be moved")
        self.start_over()

    @property
    def key(self) -> Partition:
        return self.log.topic, self.log.partition

    def start_over(self) -> None:
        """What was copied is not what the log has any more."""
        self.generation = self.log.generation
        self.is_begun = False
        self.copied: dict[Segment, int] = {}
        """Bytes of the log file, of each segment that was begun with."""
        self.whole: set[Segment] = set()
        """Closed segments that are copied and durable with all their files."""
        self.snapshots: set[int] = set()

    @property
    def size_bytes(self) -> int:
        return sum(self.copied.get(segment, 0) for segment in self.log.segments)

    @property
    def offset_lag(self) -> int:
        """How many offsets are in segments that are not copied yet."""
        for segment in self.log.segments:
            if self.copied.get(segment, -1) < segment.file.size:
                return self.log.end_offset - segment.base_offset
        return 0

    def next_work(self) -> tuple[Callable[[], None], Callable[[], int]] | None:
        """What a worker is to do next, and what to call when it is done, which tells how many bytes
        it was; None if only little is left."""
        log = self.log
        if self.generation != log.generation:
            self.start_over()
        for segment in log.segments:
            have, size = self.copied.get(segment, -1), segment.file.size
            if have < (size - _LITTLE if not segment.is_closed else size) or have < 0:
                return self._copy(segment, max(have, 0), min(size - max(have, 0), _PIECE))
            if segment.is_closed and segment not in self.whole:
                return self._copy_rest(segment)
        missing = [offset for offset in log.snapshots if offset not in self.snapshots]
        return self._copy_snapshots(missing) if missing else None

    def _copy(
        self, segment: Segment, position: int, length: int
    ) -> tuple[Callable[[], None], Callable[[], int]]:
        piece = _Piece(
            pool=self.log.pool,
            source=segment.file.path,
            target=segment_path(self.path, segment.base_offset, LOG),
            position=position,
            length=length,
            is_first=segment not in self.copied,
            is_synced=not segment.is_closed,
        )

        def done() -> int:
            self.copied[segment] = position + length
            return length

        return piece.run, done

    def _copy_rest(self, segment: Segment) -> tuple[Callable[[], None], Callable[[], int]]:
        def done() -> int:
            self.whole.add(segment)
            return 0

        return self._side_files(segment).run, done

    def _side_files(self, segment: Segment) -> _Files:
        stem = f"{segment.base_offset:020d}"
        return _Files(
            pool=self.log.pool,
            source=self.log.directory,
            target=self.path,
            names=tuple(stem + kind for kind in SEGMENT_SUFFIXES if kind != LOG),
            copied=(stem + LOG,),
        )

    def _copy_snapshots(self, offsets: list[int]) -> tuple[Callable[[], None], Callable[[], int]]:
        files = self._files(f"{offset:020d}{SNAPSHOT}" for offset in offsets)

        def done() -> int:
            self.snapshots.update(offsets)
            return 0

        return files.run, done

    def _files(self, names: Iterable[str]) -> _Files:
        return _Files(
            pool=self.log.pool, source=self.log.directory, target=self.path, names=tuple(names)
        )

    def finish(self) -> None:
        """Copy the little that is left; then all of the log is in `path`, and durable."""
        log, active = self.log, self.log.segments.active
        log.write_now()
        log.save_epochs()
        active.save_indexes()
        have, size = self.copied[active], active.file.size
        path = segment_path(self.path, active.base_offset, LOG)
        with log.pool.open_private(path) as file:
            file.write(have, [active.file.read(have, size - have)])
        self._side_files(active).run()
        self._files((EPOCH_FILE, TOPIC_ID_FILE)).run()
        wanted = {EPOCH_FILE, TOPIC_ID_FILE, *(f"{each:020d}{SNAPSHOT}" for each in log.snapshots)}
        for segment in log.segments:
            wanted.update(f"{segment.base_offset:020d}{kind}" for kind in SEGMENT_SUFFIXES)
        for name in log.pool.list_names(self.path):
            if name not in wanted:  # of a segment that has left the log
                log.pool.remove(f"{self.path}/{name}")
        log.pool.sync_directory(self.path)

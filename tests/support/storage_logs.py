"""Logs in a temporary directory, for the tests of the storage room."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.base.errors import StorageFailed
from barnabas.records.batch import Record, decode_records, encode_batch, iter_headers
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import Buffer, FilePool, Syscalls
from barnabas.storage.index import IndexCache
from barnabas.storage.log import Appended, Log
from barnabas.storage.recovery import open_log

NOW = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


def batch(
    *values: bytes,
    timestamp: int = NOW,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> memoryview:
    """One batch, as a client sends it; with an offset, as a leader hands it on."""
    return memoryview(
        encode_batch(
            [Record(timestamp=timestamp, key=b"k", value=value) for value in values or (b"v",)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
        )
    )


class QuickDisk(Syscalls):
    """The real disk, but nothing waits for it: a test does not survive a power cut anyhow."""

    fsync = fdatasync = staticmethod(lambda fd: None)


class FlakyDisk(Syscalls):
    """A disk that takes only so many bytes more, or a few at a time; reads always work."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.bite: int | None = None
        self.broken = False
        self.synced: list[str] = []

    def pwritev(self, fd: int, parts: Sequence[Buffer], position: int) -> int:  # type: ignore[override]
        if self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        total = sum(len(part) for part in parts)
        allowed = total if self.bite is None else min(total, self.bite)
        if self.room is not None:
            allowed = min(allowed, self.room)
            if allowed == 0 and total:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.room -= allowed
        return os.pwritev(fd, [b"".join(map(bytes, parts))[:allowed]], position)

    def fsync(self, fd: int) -> None:  # type: ignore[override]
        self._sync(fd)

    def fdatasync(self, fd: int) -> None:  # type: ignore[override]
        self._sync(fd)

    def _sync(self, fd: int) -> None:
        if self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))


class StepWorkers:
    """Does one piece of work each time it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.waiting.append((work, done))

    def step(self) -> bool:
        """False if there was nothing to do."""
        if not self.waiting:
            return False
        work, done = self.waiting.pop(0)
        failure: Exception | None = None
        try:
            work()
        except StorageFailed as error:
            failure = error
        done(failure)
        return True

    def close(self) -> None:
        pass


@dataclass
class Place:
    """A partition directory, and ways to open the log in it."""

    directory: Path
    config: LogConfig = field(default_factory=LogConfig)
    disk: Syscalls = field(default_factory=QuickDisk)
    limit: int = 64

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.pool = FilePool(self.limit, self.disk)
        self.cache = IndexCache()

    def open(
        self,
        *,
        clean: bool = False,
        recovery_point: int = 0,
        start_offset: int = 0,
        high_watermark: int = 0,
        compacted_to: int = 0,
        is_only_copy: bool = False,
        now_ms: int = NOW,
    ) -> Log:
        return open_log(
            pool=self.pool,
            cache=self.cache,
            topic="t",
            partition=0,
            topic_id=TOPIC_ID,
            directory=str(self.directory),
            config=self.config,
            now_ms=now_ms,
            is_clean=clean,
            recovery_point=recovery_point,
            start_offset=start_offset,
            high_watermark=high_watermark,
            compacted_to=compacted_to,
            is_only_copy=is_only_copy,
        )

    def names(self, suffix: str = "") -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if path.name.endswith(suffix))


def append(log: Log, data: memoryview, *, leader_epoch: int = 0, now_ms: int = NOW) -> Appended:
    """Append one batch as the only replica does: write it, and it is replicated."""
    appended = log.append_as_leader(data, leader_epoch=leader_epoch, now_ms=now_ms)
    write(log)
    return appended


def write(log: Log) -> None:
    log.write_pending()
    log.advance_high_watermark(log.end_offset)


def fill(log: Log, count: int, *, size: int = 100, timestamp: int = NOW, step: int = 0) -> None:
    """Append `count` batches of one record each."""
    for number in range(count):
        append(log, batch(b"%d" % number + bytes(size), timestamp=timestamp + number * step))


def records_of(log: Log, *, max_bytes: int = 1 << 20) -> Iterator[Record]:
    """All records that a consumer sees, read like one: fetch, skip what is before, go on."""
    offset = log.start_offset
    while offset < log.high_watermark:
        found = log.read(
            offset, max_bytes=max_bytes, end_offset=log.high_watermark, at_least_one=True
        ).read()
        assert found, f"no progress at {offset}"
        for position, header in iter_headers(found):
            whole = found[position : position + header.size_bytes]
            if not header.is_control:
                yield from (each for each in decode_records(whole) if each.offset >= offset)
            offset = max(offset, header.next_offset)


def values_of(log: Log, *, max_bytes: int = 1 << 20) -> list[bytes | None]:
    return [record.value for record in records_of(log, max_bytes=max_bytes)]

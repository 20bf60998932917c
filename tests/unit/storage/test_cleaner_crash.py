"""A broker that dies anywhere in a compaction loses nothing and forgets no aborted transaction."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas.base.errors import StorageFailed
from barnabas.records.batch import Record, decode_records, encode_batch, iter_headers
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.index import IndexCache
from barnabas.storage.log import Log
from barnabas.storage.recovery import open_log
from barnabas.storage.syscalls import Syscalls
from barnabas.storage.workers import InlineWorkers

NOW = 1_700_000_000_000
CONFIG = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=600,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1000,
)


class Died(BaseException):
    """The process is gone: nobody catches this."""


class MortalCalls(Syscalls):
    """Dies at the call that changes the disk for the `left`th time."""

    def __init__(self, left: int) -> None:
        self.left = left
        for name in ("open", "rename", "unlink", "pwritev", "ftruncate", "fsync", "fdatasync"):
            setattr(self, name, self._counted(getattr(os, "replace" if name == "rename" else name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left <= 0:
                raise Died
            return call(*args, **options)

        return counted


class StillClock:
    def now_ms(self) -> int:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def open_at(pool: FilePool, directory: Path) -> Log:
    return open_log(
        pool=pool,
        cache=IndexCache(),
        topic="t",
        partition=0,
        topic_id=bytes(16),
        directory=str(directory),
        config=CONFIG,
        now_ms=NOW,
        is_clean=False,
        recovery_point=1 << 40,  # as if all were flushed: nothing is scanned that need not be
    )


def produce(log: Log, count: int) -> None:
    """Some plain batches, and transactions of which every second is aborted."""
    sequence = 0
    for i in range(count):
        plain = encode_batch([Record(timestamp=NOW, key=b"k%d" % (i % 4), value=b"%d" % i)])
        log.append_as_leader(memoryview(plain), leader_epoch=0, now_ms=NOW)
        if i % 3 == 0:
            batch = encode_batch(
                [Record(timestamp=NOW, key=b"t%d" % (i % 2), value=b"%d" % i)],
                producer_id=7,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=True,
            )
            sequence += 1
            log.append_as_leader(memoryview(batch), leader_epoch=0, now_ms=NOW)
            log.append_control(
                producer_id=7,
                producer_epoch=0,
                is_commit=i % 2 == 0,
                coordinator_epoch=0,
                leader_epoch=0,
                now_ms=NOW,
            )
    log.write_pending()
    log.advance_high_watermark(log.end_offset)


def committed(log: Log) -> dict[bytes | None, bytes | None]:
    """What a reader of committed records knows in the end."""
    aborted = log.aborted_transactions(log.start_offset, log.end_offset)
    found: dict[bytes | None, bytes | None] = {}
    offset = log.start_offset
    while offset < log.end_offset:
        data = log.read(
            offset, max_bytes=1 << 20, end_offset=log.end_offset, at_least_one=True
        ).read()
        for position, header in iter_headers(data):
            offset = header.next_offset
            belongs = [
                each
                for each in aborted
                if each.producer_id == header.producer_id
                and each.first_offset <= header.base_offset <= each.last_offset
            ]
            if header.is_control or (header.is_transactional and belongs):
                continue
            batch = data[position : position + header.size_bytes]
            found.update((r.key, r.value) for r in decode_records(batch, header))
    return found


def compact(pool: FilePool, log: Log) -> None:
    def failed(log: Log, failure: StorageFailed) -> None:
        raise failure

    Cleaner(
        pool,
        InlineWorkers(),
        settings=CleanerSettings(backoff_ms=0),
        clock=StillClock(),
        on_failure=failed,
    ).tick([log], NOW)


def test_dying_at_any_system_call_loses_nothing(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    (origin / "t-0").mkdir(parents=True)
    pool = FilePool(50)
    log = open_at(pool, origin / "t-0")
    produce(log, 16)
    expected, end_offset = committed(log), log.end_offset
    assert log.aborted_transactions(0, end_offset)
    log.close()
    pool.close()

    deaths = 0
    for moment in range(1, 10_000):
        root = tmp_path / "copy"
        shutil.copytree(origin, root)
        calls = MortalCalls(1 << 60)
        mortal = FilePool(50, calls)
        log = open_at(mortal, root / "t-0")
        log.advance_high_watermark(end_offset)
        calls.left = moment
        try:
            compact(mortal, log)
            died = False
        except Died:
            died = True
        calls.left = 1 << 60
        mortal.close()

        pool = FilePool(50)
        again = open_at(pool, root / "t-0")
        assert committed(again) == expected, f"died at call {moment}"
        assert again.end_offset == end_offset
        left = [p.name for p in (root / "t-0").iterdir() if p.name.endswith((".cleaned", ".swap"))]
        assert not left
        pool.close()
        shutil.rmtree(root)
        if not died:
            break
        deaths += 1
    assert deaths > 50

"""A log that is moved to another directory while anything happens to it is the same log there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from storage_logs import NOW, TOPIC_ID, QuickDisk, StepWorkers, append, records_of

from barnabas.base.errors import StorageFailed
from barnabas.records.batch import Record, encode_batch
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.log import Log
from barnabas.storage.manager import LogManager, StorageSettings
from barnabas.storage.workers import InlineWorkers

CONFIG = LogConfig(
    cleanup_policy=("compact", "delete"),
    segment_bytes=400,
    index_interval_bytes=100,
    min_cleanable_dirty_ratio=0.0,
)


class World:
    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="moving"))
        self.workers = StepWorkers()
        self.manager = self.start()
        self.log = self.manager.create("t", 0, TOPIC_ID, CONFIG)
        self.cleaner = Cleaner(
            self.manager.pool,
            InlineWorkers(),
            settings=CleanerSettings(backoff_ms=0),
            clock=self,
            on_failure=self.failed,
        )
        self.manager.on_log_moved = lambda log, source: self.cleaner.moved(log, source.path)

    def start(self) -> LogManager:
        self.workers = StepWorkers()
        manager = LogManager(
            StorageSettings(directories=(str(self.root / "a"), str(self.root / "b"))),
            node_id=1,
            cluster_id="c",
            workers=self.workers,
            pool=FilePool(16, QuickDisk()),
        )
        manager.load(NOW, lambda topic: CONFIG)
        return manager

    def failed(self, log: Log, failure: StorageFailed) -> None:
        raise failure

    def now_ms(self) -> int:
        return NOW

    def monotonic(self) -> float:
        return 0.0

    # What may happen.

    def write(self, number: int) -> None:
        record = Record(timestamp=NOW, key=b"%d" % (number % 5), value=b"%d" % number)
        append(self.log, memoryview(bytearray(encode_batch([record]))), leader_epoch=number // 20)

    def roll(self, number: int) -> None:
        self.log.roll(NOW)

    def delete(self, number: int) -> None:
        self.log.delete_records_before(
            min(self.log.start_offset + number % 7, self.log.high_watermark)
        )

    def truncate(self, number: int) -> None:
        end = self.log.end_offset
        self.manager.truncate(self.log, max(self.log.start_offset, end - number % 6))

    def compact(self, number: int) -> None:
        self.cleaner.tick([self.log], NOW)

    def move(self, number: int) -> None:
        self.manager.move("t", 0, self.manager.directories[number % 2])
        self.manager.moves.tick()

    def step(self, number: int) -> None:
        self.workers.step()

    def tick(self, number: int) -> None:
        self.manager.tick(NOW + number * 20_000)


ACTIONS = [World.write] * 8 + [World.step] * 6 + [World.move] * 2
ACTIONS += [World.roll, World.delete, World.truncate, World.compact, World.tick]


def facts(log: Log) -> object:
    return (
        log.start_offset,
        log.end_offset,
        [each for each in log.epochs.entries if each[1] < log.end_offset],
        [(r.offset, r.key, r.value) for r in records_of(log)],
        [(segment.base_offset, segment.size_bytes) for segment in log.segments],
    )


@settings(max_examples=60, deadline=None)
@given(actions=st.lists(st.sampled_from(ACTIONS), max_size=120))
def test_a_log_is_the_same_wherever_it_is_moved_meanwhile(
    actions: list[Callable[[World, int], None]],
) -> None:
    world = World()
    try:
        for number, action in enumerate(actions):
            before = facts(world.log) if action in (World.step, World.move) else None
            action(world, number)
            assert before is None or facts(world.log) == before
        world.move(1)
        while world.workers.step():
            pass
        assert world.log.directory == str(world.root / "b/t-0")
        expected = facts(world.log)
        world.manager.close()
        again = world.start()
        found = again.get("t", 0)
        assert found is not None
        assert found.directory == str(world.root / "b/t-0")
        assert facts(found) == expected
        again.give_back()
        again.pool.close()
    finally:
        shutil.rmtree(world.root)

"""Whenever the machine loses power while a log is moved, what was durable is there afterwards."""

from __future__ import annotations

from random import Random
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from storage_logs import NOW, TOPIC_ID, StepWorkers, append, batch, records_of

from barnabas.lab.sim.disk import SimDisk
from barnabas.lab.sim.process import Process
from barnabas.lab.sim.syscalls import SimSyscalls
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool, Syscalls
from barnabas.storage.log import Log
from barnabas.storage.manager import LogManager, StorageSettings

CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=100)


class PowerCut(BaseException):
    """The machine is off."""


class FailingCalls(SimSyscalls):
    """Loses power before the change of the disk whose number `left` counts down to."""

    left = -1

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise PowerCut

    def pwritev(self, *arguments: Any) -> int:
        self._count()
        return super().pwritev(*arguments)

    def fsync(self, fd: int) -> None:
        self._count()
        super().fsync(fd)

    def rename(self, old: str, new: str) -> None:
        self._count()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        self._count()
        super().unlink(path)


class World:
    """A machine with two log directories and one log, which is moved from one to the other."""

    def __init__(self) -> None:
        self.disk = SimDisk()
        self.written: list[bytes] = []
        self.durable = 0
        self.start()
        self.log = self.manager.create("t", 0, TOPIC_ID, CONFIG)

    def start(self) -> None:
        self.calls = FailingCalls(
            self.disk, Process("m"), pause=lambda seconds: None, now=lambda: NOW
        )
        self.workers = StepWorkers()
        self.manager = LogManager(
            StorageSettings(directories=("/a", "/b")),
            node_id=1,
            cluster_id="c",
            workers=self.workers,
            pool=FilePool(16, cast("Syscalls", self.calls)),
        )
        self.manager.load(NOW, lambda topic: CONFIG)

    def write(self, count: int) -> None:
        for _ in range(count):
            self.written.append(b"%d" % len(self.written))
            append(self.log, batch(self.written[-1]))

    def flush(self) -> None:
        self.log.flush()
        self.durable = self.log.end_offset

    def found(self) -> Log:
        log = self.manager.get("t", 0)
        assert log is not None, "the log is gone"
        log.advance_high_watermark(log.end_offset)
        return log

    def run(self, random: Random) -> None:
        """Move it, and use it meanwhile."""
        self.manager.move("t", 0, self.manager.directories[1])
        self.manager.moves.tick()
        while self.workers.step():
            if random.random() < 0.3:
                self.write(1)
            if random.random() < 0.2:
                self.flush()
        self.write(2)
        self.flush()
        self.manager.tick(NOW + 120_000)
        while self.workers.step():
            pass


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.integers(1, 250))
def test_a_power_cut_at_any_moment_of_a_move_loses_nothing_that_was_durable(
    seed: int, cut: int
) -> None:
    random = Random(seed)
    world = World()
    world.write(random.randint(1, 20))
    world.flush()
    world.manager.tick(NOW)
    while world.workers.step():
        pass
    world.calls.left = cut
    try:
        world.run(random)
    except PowerCut:
        world.disk.lose_power(random)
        world.start()

    world.calls.left = -1
    log = world.found()
    values = [record.value for record in records_of(log)]
    assert len(values) >= world.durable
    assert values == world.written[: len(values)]
    del world.written[len(values) :]
    world.log = log
    world.run(random)
    assert log.directory == "/b/t-0"
    assert [record.value for record in records_of(log)] == world.written

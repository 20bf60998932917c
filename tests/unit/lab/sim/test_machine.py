"""What a simulated machine gives a node: workers that take time, a journal that survives."""

from __future__ import annotations

import asyncio
from random import Random

from barnabas.lab.sim.disk import SimDisk
from barnabas.lab.sim.loop import VirtualLoop
from barnabas.lab.sim.machine import SimClock, SimMachine, SimWorkers
from barnabas.lab.sim.network import Network
from barnabas.lab.sim.process import Process


def test_work_is_done_later_in_order_and_its_failure_is_told() -> None:
    loop = VirtualLoop(Random(1))
    workers = SimWorkers(loop, Random(1))
    seen: list[object] = []

    def fail() -> None:
        seen.append("second")
        raise ValueError("no")

    async def ask() -> None:
        workers.submit(lambda: seen.append("first"), seen.append)
        workers.submit(fail, seen.append)
        assert seen == []
        await asyncio.sleep(1)

    loop.run(ask())
    assert seen[:3] == ["first", None, "second"]
    assert repr(seen[3:]) == "[ValueError('no')]"


def test_closing_workers_finishes_what_was_asked_for() -> None:
    loop = VirtualLoop(Random(1))
    workers = SimWorkers(loop, Random(1))
    seen: list[object] = []

    async def ask() -> None:
        for number in range(3):
            workers.submit(lambda n=number: seen.append(n), lambda _: None)
        workers.close()
        assert seen == [0, 1, 2]
        await asyncio.sleep(1)

    loop.run(ask())
    assert seen == [0, 1, 2]


def machine_on(disk: SimDisk) -> SimMachine:
    loop = VirtualLoop(Random(1))
    network = Network(loop, Random(1))
    return SimMachine(network, disk, Process("m"), clock=SimClock(loop), random=Random(1))


def test_what_a_journal_was_told_is_written_survives_a_power_cut() -> None:
    for seed in range(20):
        disk = SimDisk()
        files = machine_on(disk).journal_files("/meta/journal")
        assert files.names() == []
        files.append("0.log", b"one", position=0)
        files.append("0.log", b"two", position=3)
        files.replace("state", b"x")
        files.truncate("0.log", 5)
        disk.lose_power(Random(seed))

        again = machine_on(disk).journal_files("/meta/journal")
        assert again.names() == ["0.log", "state"]
        assert again.read("0.log") == b"onetw"
        assert again.read("state") == b"x"
        again.remove("state")
        again.remove("state")
        assert again.names() == ["0.log"]


def test_a_clock_that_is_wrong_moves_wall_time_only() -> None:
    clock = SimClock(VirtualLoop(Random(1)))
    wall, monotonic = clock.now_ms(), clock.monotonic()
    clock.offset_ms = -5_000
    assert clock.now_ms() == wall - 5_000
    assert clock.monotonic() == monotonic

"""Virtual time: nothing waits, order follows from the seed, a killed process does nothing."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from barnabas.lab.sim.loop import Stuck, VirtualLoop
from barnabas.lab.sim.process import Process


def new_loop(seed: int = 1) -> VirtualLoop:
    return VirtualLoop(Random(seed), start=100.0)


def test_time_passes_only_by_jumps() -> None:
    loop = new_loop()

    async def wait() -> float:
        await asyncio.sleep(86_400)
        return loop.time()

    assert loop.run(wait()) == 100.0 + 86_400


def test_callbacks_of_an_instant_run_in_order() -> None:
    loop = new_loop()
    seen: list[int] = []

    async def ask() -> None:
        for number in range(20):
            loop.call_soon(seen.append, number)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    loop.run(ask())
    assert seen == list(range(20))


def timers(seed: int) -> list[int]:
    loop = new_loop(seed)
    seen: list[int] = []

    async def ask() -> None:
        for number in range(20):
            loop.call_later(1, seen.append, number)
        await asyncio.sleep(2)

    loop.run(ask())
    return seen


def test_the_seed_orders_timers_of_the_same_instant() -> None:
    assert timers(1) == timers(1)
    assert timers(1) != timers(2)
    assert sorted(timers(1)) == list(range(20))


def test_a_cancelled_timer_does_not_run() -> None:
    loop = new_loop()
    seen: list[str] = []

    async def ask() -> None:
        loop.call_later(1, seen.append, "cancelled").cancel()
        loop.call_later(2, seen.append, "runs")
        await asyncio.sleep(3)

    loop.run(ask())
    assert seen == ["runs"]


def test_nothing_of_a_killed_process_runs_not_even_its_finally() -> None:
    loop = new_loop()
    process = Process("machine")
    seen: list[str] = []

    async def live() -> None:
        try:
            await asyncio.sleep(2)
            seen.append("went on")
        finally:
            if process.is_alive:
                seen.append("cleaned up")

    async def kill() -> None:
        life = loop.create_task(live(), context=process.context())
        await asyncio.sleep(1)
        process.kill()
        await asyncio.sleep(5)
        assert not life.done()

    loop.run(kill())
    assert seen == []


def test_what_a_process_starts_belongs_to_it() -> None:
    loop = new_loop()
    process = Process("machine")
    seen: list[str] = []

    children: list[asyncio.Future[None]] = []

    async def live() -> None:
        loop.call_later(2, seen.append, "timer")
        children.append(asyncio.ensure_future(child()))

    async def child() -> None:
        await asyncio.sleep(3)
        seen.append("task")

    async def kill() -> None:
        await loop.create_task(live(), context=process.context())
        await asyncio.sleep(1)
        process.kill()
        await asyncio.sleep(5)

    loop.run(kill())
    assert seen == []


def test_a_paused_process_does_later_all_it_would_have_done_in_order() -> None:
    loop = new_loop()
    process = Process("machine")
    seen: list[tuple[float, int]] = []

    async def pause() -> None:
        context = process.context()
        for number in range(5):
            loop.call_later(
                1 + number, lambda n=number: seen.append((loop.time(), n)), context=context
            )
        process.paused_until = loop.time() + 3.5
        await asyncio.sleep(10)

    loop.run(pause())
    assert seen == [(103.5, 0), (103.5, 1), (103.5, 2), (104.0, 3), (105.0, 4)]


def test_having_nothing_left_to_do_is_an_error() -> None:
    loop = new_loop()

    async def wait() -> None:
        await loop.create_future()

    with pytest.raises(Stuck, match="nothing is left"):
        loop.run(wait())


def test_a_loop_that_never_lets_time_pass_is_an_error() -> None:
    loop = new_loop()

    def again() -> None:
        loop.call_soon(again)

    async def wait() -> None:
        again()
        await asyncio.sleep(1)

    with pytest.raises(Stuck, match="time stands still"):
        loop.run(wait())

"""Workers: results come back on the loop, failures too, close waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from barnabas.storage.workers import InlineWorkers, ThreadWorkers


def test_threads_do_the_work_and_the_loop_gets_the_result() -> None:
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
    workers = ThreadWorkers(calls.put, threads=2)
    worked: list[int] = []
    results: list[tuple[int, Exception | None]] = []
    loop = threading.get_ident()

    def work() -> None:
        worked.append(threading.get_ident())

    for _ in range(5):
        workers.submit(work, lambda error: results.append((threading.get_ident(), error)))
    for _ in range(5):
        calls.get(timeout=10)()
    assert results == [(loop, None)] * 5
    assert loop not in worked
    workers.close()


def test_a_failure_is_a_result() -> None:
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
    workers = ThreadWorkers(calls.put)
    results: list[Exception | None] = []

    def work() -> None:
        raise ValueError("no")

    workers.submit(work, results.append)
    calls.get(timeout=10)()
    workers.close()
    InlineWorkers().submit(work, results.append)
    assert [str(error) for error in results] == ["no", "no"]


def test_closing_waits_for_what_was_submitted() -> None:
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
    workers = ThreadWorkers(calls.put, threads=1)
    done: list[int] = []
    for number in range(20):
        workers.submit(lambda number=number: done.append(number), lambda error: None)  # type: ignore[misc]
    workers.close()
    assert done == list(range(20))

"""Threads for slow disk work: a worker gets what never changes, its result goes to the loop."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Workers(Protocol):
    """Something that runs work elsewhere."""

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Run `work`; then, on the loop thread, `done` with the exception it raised, or None."""

    def close(self) -> None:
        """Return when all work is done; nothing may be submitted any more."""


class InlineWorkers:
    """Does the work at once, in the caller's thread: for tools, tests and simulation."""

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        failure: Exception | None = None
        try:
            work()
        except Exception as error:
            failure = error
        done(failure)

    def close(self) -> None:
        pass


class ThreadWorkers:
    """A few threads, started when there is something to do.

    `post` hands a call to the loop thread: `loop.call_soon_threadsafe`.
    """

    def __init__(self, post: Callable[[Callable[[], None]], object], *, threads: int = 2) -> None:
        self._post = post
        self._limit = threads
        self._is_closing = False
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[
            tuple[Callable[[], None], Callable[[Exception | None], None]] | None
        ] = SimpleQueue()

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        if len(self._threads) < self._limit:
            thread = threading.Thread(
                target=self._run, name=f"storage-worker-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        self._queue.put((work, done))

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            work, done = job
            failure: Exception | None = None
            try:
                work()
            except Exception as error:
                failure = error
            try:
                self._post(_call(done, failure))
            except RuntimeError:
                if not self._is_closing:  # else there is no loop any more, and nobody who waits
                    raise

    def close(self) -> None:
        self._is_closing = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def _call(
    done: Callable[[Exception | None], None], failure: Exception | None
) -> Callable[[], None]:
    return lambda: done(failure)

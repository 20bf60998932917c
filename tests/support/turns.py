"""Several lives at once, one step of one of them at a time, in an order that a seed decides."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

BURSTS = (1, 1, 2, 5, 20, 60)
"""Steps that one takes while the others stand still: mostly few, at times about all it has."""
STUCK_S = 60.0


class _Life:
    def __init__(self, live: Callable[[Callable[[int], object]], object]) -> None:
        self._mine = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._live = live
        self._failure: BaseException | None = None
        self.is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._mine.acquire()
        try:
            self._live(self._pause)
        except BaseException as error:  # raised again by `step`
            self._failure = error
        self.is_over = True
        self._back.release()

    def _pause(self, _: int) -> None:
        self._back.release()
        self._mine.acquire()

    def step(self) -> None:
        self._mine.release()
        assert self._back.acquire(timeout=STUCK_S), "a life stands still"
        if self.is_over:
            self._thread.join()
        if self._failure is not None:
            raise self._failure


def take_turns(
    lives: Sequence[Callable[[Callable[[int], object]], object]], chance: random.Random
) -> None:
    """Runs all of them to their ends; each calls what it is given before each of its steps."""
    alive = [_Life(live) for live in lives]
    while alive:
        life = chance.choice(alive)
        for _ in range(chance.choice(BURSTS)):
            life.step()
            if life.is_over:
                alive.remove(life)
                break

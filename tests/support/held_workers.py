"""Worker threads that are none: the work is done when the test says so."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.storage.workers import InlineWorkers


class HeldWorkers:
    """`held` is what was asked for, oldest first."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], None], Callable[[Exception | None], None]]] = []

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.held.append((work, done))

    def run_one(self) -> None:
        InlineWorkers().submit(*self.held.pop(0))

    def close(self) -> None:
        self.held.clear()

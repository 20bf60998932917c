"""What the load tools share: numbers of librdkafka for `--print-metrics`, and how a loop that calls
it millions of times is left in peace, and is interrupted all the same.
"""

from __future__ import annotations

import gc
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from barnabas.cli.command import Terminated

if TYPE_CHECKING:
    from types import FrameType

INTERVAL_MS = 500
GIVE_UP_POLLS = 20


@contextmanager
def no_collections() -> Iterator[None]:
    """Without looking for garbage in circles: of millions of messages none is in one."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Interrupts:
    """Ctrl-C and SIGTERM, noted while it is entered and raised by `check`.

    In a callback of the library they must not be raised: it forgets the exception, and says only
    that there was one.  Main thread only.
    """

    def __init__(self) -> None:
        self._noted: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = number

    def check(self) -> None:
        """Raises what has come."""
        if self._noted is not None:
            raise Terminated if self._noted == signal.SIGTERM else KeyboardInterrupt


@dataclass(slots=True)
class Statistics:
    """Keeps the latest; filled while a client is polled, on the thread that polls."""

    latest: dict[str, Any] = field(default_factory=dict)
    count: int = 0

    def __call__(self, text: str) -> None:
        self.latest = json.loads(text)
        self.count += 1

    def config(self) -> dict[str, Any]:
        """What makes a client tell."""
        return {"statistics.interval.ms": str(INTERVAL_MS), "stats_cb": self}

    def fresh(self, poll: Callable[[float], object]) -> dict[str, Any]:
        """Numbers that were told after this call, or the latest if none come."""
        before = self.count
        for _ in range(GIVE_UP_POLLS):
            poll(INTERVAL_MS / 1000)
            if self.count > before:
                break
        return self.latest

"""Time, as an argument.

Nothing below the broker reads a clock: whoever decides something is told what time it is, so that
tests and the simulator can say it.  The broker's loop asks a `Clock` once a turn.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from: the machine, or a test."""

    def now_ms(self) -> int:
        """Wall time, in milliseconds since 1970; may jump when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for durations and deadlines."""
        ...


class SystemClock:
    """The machine's own clocks."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)


SYSTEM_CLOCK: Clock = SystemClock()

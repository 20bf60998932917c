"""A rate that may not be exceeded for long.  Pure: time is an argument.

A bucket holds what may be used now.  It fills at the rate, up to what comes in a span of time; who
takes more than there is owes it, and waits until the debt is paid.  So whoever waits as told gets,
in any time T, at most `rate * (T + span)` and the one request that was under way.
"""

from __future__ import annotations

PAUSE_S_MAX = 2_000_000.0
"""More milliseconds than in 23 days do not fit into `throttle_time_ms`."""


class Bucket:
    """`now` is monotonic, in seconds; amounts are bytes, partitions, whatever the rate is of."""

    __slots__ = ("_at", "_left", "_rate", "_span_s")

    def __init__(self, rate: float, span_s: float, now: float) -> None:
        """Full, with what comes in `span_s` seconds."""
        self._rate = rate
        self._span_s = span_s
        self._left = rate * span_s
        self._at = now

    @property
    def capacity(self) -> float:
        """The most that there ever is."""
        return self._rate * self._span_s

    def set_rate(self, rate: float, now: float) -> None:
        """What was used lately stays used, as if the new rate had been there all the time."""
        self._refill(now)
        used = self.capacity - self._left
        self._rate = rate
        self._left = self.capacity - used

    def spend(self, amount: float, now: float) -> None:
        """It was used, be that more than there was; less than nothing gives back."""
        self._refill(now)
        self._left = min(self._left - amount, self.capacity)

    def pause(self, now: float) -> float:
        """Seconds until nothing is owed."""
        return self.pause_before(0.0, now)

    def pause_before(self, amount: float, now: float) -> float:
        """Seconds until so much may be used; for what never fits, until the bucket is full."""
        self._refill(now)
        missing = min(amount, self.capacity) - self._left
        return min(missing / self._rate, PAUSE_S_MAX) if missing > 0 else 0.0

    def is_full(self, now: float) -> bool:
        """As good as new."""
        self._refill(now)
        return self._left >= self.capacity

    def _refill(self, now: float) -> None:
        if now > self._at:
            self._left = min(self._left + (now - self._at) * self._rate, self.capacity)
            self._at = now

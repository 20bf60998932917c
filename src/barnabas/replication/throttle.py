"""Replication throttles: so many bytes a second for replicas that are not in sync.

Meant for moving partitions: `leader.replication.throttled.replicas` and its counterpart for
followers name the replicas (`partition:broker`, or `*`), the brokers' `....throttled.rate` the
bytes.  Replicas that are in sync are never slowed down, or producers would be with them.  Pure.
"""

from __future__ import annotations

BURST_S = 1.0
"""What was not used is kept for that long."""


class Throttle:
    """A rate for all throttled replicas of a broker together.  `now` is monotonic seconds."""

    __slots__ = ("_at", "_left", "_rate")

    def __init__(self) -> None:
        self._rate: int | None = None
        self._left = 0.0
        self._at = 0.0

    def set_rate(self, bytes_per_s: int | None, now: float) -> None:
        """None: as fast as can be."""
        if bytes_per_s != self._rate:
            self._rate = bytes_per_s
            self._left = BURST_S * (bytes_per_s or 0)
            self._at = now

    def spend(self, size: int, now: float) -> None:
        """So many bytes were copied, be that more than allowed: batches are whole."""
        if self._rate is not None:
            self._refill(self._rate, now)
            self._left -= size

    def pause(self, now: float) -> float:
        """How many seconds to wait before more is copied; 0 if nothing has to be waited for."""
        rate = self._rate
        if rate is None:
            return 0.0
        self._refill(rate, now)
        if self._left > 0:
            return 0.0
        return BURST_S if rate == 0 else -self._left / rate + 0.001

    def _refill(self, rate: int, now: float) -> None:
        if now > self._at:
            self._left = min(self._left + (now - self._at) * rate, BURST_S * rate)
            self._at = now


def is_throttled(replicas: tuple[str, ...], index: int, node_id: int) -> bool:
    """Whether a topic's setting names that replica."""
    return replicas == ("*",) or f"{index}:{node_id}" in replicas

"""Which brokers have been heard of lately.

Kept in memory only: a controller that starts gives every broker the full time to say something.
Owned by the controller's thread; the time is an argument.
"""

from __future__ import annotations


class BrokerSessions:
    """A broker that sent nothing for `timeout_ms` has lost its session and is to be fenced."""

    def __init__(self, timeout_ms: int) -> None:
        assert timeout_ms > 0, f"session timeout {timeout_ms}"
        self.timeout_ms = timeout_ms
        self._heard_ms: dict[int, int] = {}

    def touch(self, broker_id: int, now_ms: int) -> None:
        """That broker was heard of."""
        self._heard_ms[broker_id] = now_ms

    def forget(self, broker_id: int) -> None:
        """That broker has no session any more."""
        self._heard_ms.pop(broker_id, None)

    def is_live(self, broker_id: int, now_ms: int) -> bool:
        heard = self._heard_ms.get(broker_id)
        return heard is not None and now_ms - heard < self.timeout_ms

    def expired(self, now_ms: int) -> list[int]:
        """Brokers whose time is over, by id."""
        return sorted(b for b in self._heard_ms if not self.is_live(b, now_ms))

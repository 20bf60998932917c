"""Which brokers have been heard of lately, and how much of the metadata they have seen.

Kept in memory only: a controller that starts gives every broker the full time to say something.
Owned by the controller's thread; the time is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = 2**63 - 1
"""Of a broker in the controller's own process: it has always seen everything."""
PAUSE_MS = 3_000
"""The shortest time without a look that counts as a pause."""


@dataclass(slots=True)
class _Session:
    heard_ms: int
    metadata_offset: int = -1


class BrokerSessions:
    """A broker that sent nothing for `timeout_ms` has lost its session and is to be fenced."""

    def __init__(self, timeout_ms: int) -> None:
        assert timeout_ms > 0, f"session timeout {timeout_ms}"
        self.timeout_ms = timeout_ms
        self._sessions: dict[int, _Session] = {}
        self._near: set[int] = set()
        """Brokers in the controller's own process: they live as long as it does."""
        self._leaving: dict[int, int] = {}
        self._looked_ms: int | None = None

    def touch(self, broker_id: int, now_ms: int, *, metadata_offset: int = -1) -> None:
        """That broker was heard of; it has applied the metadata up to that offset."""
        session = self._sessions.setdefault(broker_id, _Session(now_ms))
        session.heard_ms = now_ms
        self.saw(broker_id, metadata_offset)

    def saw(self, broker_id: int, metadata_offset: int) -> None:
        """That broker has applied the metadata up to that offset; it lives no longer for it."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.metadata_offset = max(session.metadata_offset, metadata_offset)

    def stays(self, broker_id: int) -> None:
        """That broker is in the controller's own process: it needs no heartbeats to live on."""
        self._near.add(broker_id)

    def forget(self, broker_id: int) -> None:
        """That broker has no session any more."""
        self._sessions.pop(broker_id, None)
        self._near.discard(broker_id)
        self._leaving.pop(broker_id, None)

    def is_live(self, broker_id: int, now_ms: int) -> bool:
        if broker_id in self._near:
            return True
        session = self._sessions.get(broker_id)
        return session is not None and now_ms - session.heard_ms < self.timeout_ms

    def expired(self, now_ms: int) -> list[int]:
        """Brokers whose time is over, the one that is silent longest first.

        To be asked every second or so.  If that was not done for half a session's time, nobody was
        listening either (a process that was stopped, a clock that was set), and every broker gets
        its full time again.  So it does, and no more, if the clock was set back.
        """
        last, self._looked_ms = self._looked_ms, now_ms
        pause_ms = max(self.timeout_ms / 2, PAUSE_MS)
        if last is not None and not 0 <= now_ms - last < pause_ms:
            for session in self._sessions.values():
                session.heard_ms = now_ms
        late = [b for b in self._sessions if not self.is_live(b, now_ms)]
        return sorted(late, key=lambda b: (self._sessions[b].heard_ms, b))

    # Controlled shutdown

    def metadata_offset(self, broker_id: int) -> int:
        """How far that broker has applied the metadata; -1 if it has not said so yet."""
        session = self._sessions.get(broker_id)
        return ALL if session is None else session.metadata_offset

    def start_leaving(self, broker_id: int, offset: int) -> None:
        """That broker's partitions are others' since `offset`; the first call counts."""
        self._leaving.setdefault(broker_id, offset)

    def leaving_since(self, broker_id: int) -> int | None:
        """The offset from which on others lead what that broker led."""
        return self._leaving.get(broker_id)

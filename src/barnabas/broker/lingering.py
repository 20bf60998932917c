"""How long a coordinator gathers changes before it appends them as one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Call: TypeAlias = Callable[[], None]

ADAPTIVE = -1
PATIENCE_S = 0.025
"""The longest that a change waits for others when the load decides."""


class Loop(Protocol):
    """What is used of an event loop."""

    def call_soon(self, callback: Callable[..., Any], /) -> object: ...

    def call_later(self, delay: float, callback: Callable[..., Any], /) -> object: ...


class Lingering:
    """`group.coordinator.append.linger.ms`: when what is gathered is appended.

    A batch costs as much as a few commits, so under load it should take many.  With -1 the load
    decides: as long as each look at the sockets brings more requests, the batch is kept open, for
    `PATIENCE_S` at most; a commit that comes alone is appended in its own loop turn.  Otherwise it
    is kept open for so many milliseconds, where 0 is to the end of the turn.  Loop thread only.
    """

    def __init__(
        self,
        linger_ms: int,
        *,
        loop: Loop,
        now: Callable[[], float],
        at_turn_end: Callable[[Call], None],
    ) -> None:
        """`now` gives seconds; `at_turn_end(call)` has a call made before the next write."""
        self._linger_ms = linger_ms
        self._loop = loop
        self._now = now
        self._at_turn_end = at_turn_end
        self._append: Call | None = None
        self.requests = self._seen = 0
        """Each of them may have changed something: who serves one counts it."""
        self._until = 0.0

    def begin(self, append: Call) -> None:
        """Something is gathered: call `append` when it has waited long enough."""
        if self._linger_ms > 0:
            self._loop.call_later(self._linger_ms / 1000, lambda: self._at_turn_end(append))
        elif self._linger_ms == ADAPTIVE:
            assert self._append is None, "what is gathered is appended once"
            self._append = append
            self._seen = self.requests
            self._until = self._now() + PATIENCE_S
            self._loop.call_soon(self._look)
        else:
            self._at_turn_end(append)

    def _look(self) -> None:
        """Since the last look the loop has served every socket that had something."""
        if self.requests != self._seen and self._now() < self._until:
            self._seen = self.requests
            self._loop.call_soon(self._look)
            return
        append, self._append = self._append, None
        assert append is not None, "a look follows a beginning"
        self._at_turn_end(append)

"""What waits for the controller to decide: bounded, and what is urgent goes first.

While the journal cannot be written, a ZooKeeper that hangs for one, everything waits.  Brokers and
clients do not: they give up and ask again.  So that this neither fills the memory nor keeps the
controller busy for long when the journal is back, only so many may wait, and only so many are
decided at once.  Whether a broker lives must never depend on how much others ask for: heartbeats
have a place of their own, one for each that a broker repeats, and are decided first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.controller.decider.decision import Decision
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

WAITING_MAX = 10_000
GROUP_MAX = 200
"""So many requests are decided one after the other; then others get the thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Something to decide on; `refuse` makes the response if that fails."""

    decide: Callable[[ClusterImage, int], Decision]
    refuse: Callable[[Exception], Message]
    done: Callable[[Message], None]
    urgent: Hashable = None
    """If not None it goes first, in the place of what waits under the same key: that is the same
    once more."""
    is_own: bool = False
    """It is the controller's own, who does not ask again: there is always a place for it."""


class WorkQueue:
    """Owned by the controller's thread."""

    def __init__(self, *, waiting_max: int = WAITING_MAX, group_max: int = GROUP_MAX) -> None:
        """`waiting_max` counts for what is urgent and for the rest, each."""
        self._waiting_max = waiting_max
        self._group_max = group_max
        self._urgent: dict[Hashable, Work] = {}
        self._others: deque[Work] = deque()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    def put(self, work: Work) -> Work | None:
        """Add it.  Returns what is to be refused: it, if there is no place, or what it replaces."""
        if work.urgent is None:
            if len(self._others) >= self._waiting_max and not work.is_own:
                return work
            self._others.append(work)
            return None
        replaced = self._urgent.get(work.urgent)
        if replaced is None and len(self._urgent) >= self._waiting_max and not work.is_own:
            return work
        self._urgent[work.urgent] = work
        return replaced

    def take(self) -> list[Work]:
        """All that is urgent, and as many of the others as are decided at once."""
        group = list(self._urgent.values())
        self._urgent.clear()
        while self._others and len(group) < self._group_max:
            group.append(self._others.popleft())
        return group

    def take_all(self) -> list[Work]:
        everything = [*self._urgent.values(), *self._others]
        self._urgent.clear()
        self._others.clear()
        return everything

"""Where requests wait: fetches for enough bytes, produces for their replicas.

Pure: time is an argument, nothing here sleeps.  The owner calls `touched` when a partition moved
and `expire` when `next_deadline` has passed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import chain, count
from typing import Protocol


class Watched(Protocol):
    """Something that a parked request waits for: a partition."""

    waiters: dict[Parked, None]


class Waiters:
    """Something to wait for that is no partition."""

    __slots__ = ("waiters",)

    def __init__(self) -> None:
        self.waiters: dict[Parked, None] = {}


class Parked:
    """One waiting request.  `attempt(expired)` answers it and returns True, or leaves it parked.

    With `expired` true the attempt must answer with whatever there is.
    """

    __slots__ = ("attempt", "deadline", "watching")

    def __init__(
        self, attempt: Callable[[bool], bool], watching: Iterable[Watched], deadline: float
    ) -> None:
        self.attempt = attempt
        self.watching = tuple(watching)
        self.deadline = deadline


class Purgatory:
    """All parked requests of one kind.  Loop thread only."""

    def __init__(self) -> None:
        self._parked: set[Parked] = set()
        self._deadlines: list[tuple[float, int, Parked]] = []
        self._ticket = count()

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, parked: Parked) -> None:
        self._parked.add(parked)
        for partition in parked.watching:
            partition.waiters[parked] = None
        heapq.heappush(self._deadlines, (parked.deadline, next(self._ticket), parked))

    def forget(self, parked: Parked) -> None:
        """Stop waiting without an answer: the client has gone, or the answer was given."""
        self._parked.discard(parked)
        for partition in parked.watching:
            partition.waiters.pop(parked, None)
        self._shrink()

    def touched(self, *partitions: Watched) -> None:
        """They grew, changed leader or went away: try everything that waits for one of them."""
        for parked in dict.fromkeys(chain.from_iterable(one.waiters for one in partitions)):
            if parked in self._parked and parked.attempt(False):
                self.forget(parked)

    def hurry(self, watched: Watched) -> None:
        """Answer everything that waits for it with what there is."""
        for parked in list(watched.waiters):
            if parked in self._parked:
                answered = parked.attempt(True)
                assert answered, "an expired request is always answered"
                self.forget(parked)

    def expire(self, now: float) -> None:
        """Answer everything whose time is up."""
        while self._deadlines and self._deadlines[0][0] <= now:
            parked = heapq.heappop(self._deadlines)[2]
            if parked in self._parked:
                answered = parked.attempt(True)
                assert answered, "an expired request is always answered"
                self.forget(parked)

    def next_deadline(self) -> float | None:
        """When `expire` has something to do.  May be early: forgotten entries leave lazily."""
        while self._deadlines and self._deadlines[0][2] not in self._parked:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def _shrink(self) -> None:
        # Answered requests leave a tombstone in the heap until their deadline.  Busy consumers with
        # a long `fetch.max.wait.ms` would pile them up: rebuild when most of the heap is dead.
        if len(self._deadlines) > 64 and len(self._deadlines) > 4 * len(self._parked):
            self._deadlines = [entry for entry in self._deadlines if entry[2] in self._parked]
            heapq.heapify(self._deadlines)

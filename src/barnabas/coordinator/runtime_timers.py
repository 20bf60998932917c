"""Deadlines that are put off far more often than they pass."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Deadlines(Generic[K]):
    """One deadline per key.

    Setting a later one is a dictionary write: the heap keeps the old entry, which is looked at
    again when it comes up.  So a heartbeat costs the same whatever the number of members.
    """

    __slots__ = ("_due", "_heap", "_order")

    def __init__(self) -> None:
        self._due: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def get(self, key: K) -> int | None:
        return self._due.get(key)

    def set(self, key: K, deadline_ms: int) -> None:
        """Set or move the deadline of `key`."""
        before = self._due.get(key)
        self._due[key] = deadline_ms
        if before is None or deadline_ms < before:
            heapq.heappush(self._heap, (deadline_ms, next(self._order), key))
            self._shrink()

    def cancel(self, key: K) -> None:
        self._due.pop(key, None)

    def next(self) -> int | None:
        """When `pop` may have something; never later than the first deadline."""
        return self._heap[0][0] if self._heap else None

    def pop(self, now_ms: int) -> K | None:
        """A key whose deadline has passed, earliest first; it has none any more.  None: no more."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            entry_ms, _, key = heapq.heappop(heap)
            deadline_ms = self._due.get(key)
            if deadline_ms is None:
                continue
            if deadline_ms > entry_ms:
                heapq.heappush(heap, (deadline_ms, next(self._order), key))
                continue
            del self._due[key]
            return key
        return None

    def _shrink(self) -> None:
        """Drop entries of cancelled keys and doubled ones before they outnumber the real ones."""
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._due):
            self._heap = [(due, next(self._order), key) for key, due in self._due.items()]
            heapq.heapify(self._heap)

"""Which partitions a consumer without a group reads, and from where.  Pure.

Such a consumer needs no coordinator: it looks partitions up, takes all of them, and looks again
from time to time.  What was not there at the beginning is read from its beginning, so that nothing
written to a topic or partition that came later is missed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BEGINNING = -2
END = -1
"""Offsets with a meaning, as librdkafka numbers them."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    topic: str
    partition: int
    offset: int


@dataclass(slots=True, kw_only=True)
class Assignment:
    """What is wanted, and what has been taken of it."""

    topic: str | None = None
    pattern: re.Pattern[str] | None = None
    skip: frozenset[str] = frozenset()
    """Topics that the pattern does not mean even if it matches."""
    partition: int | None = None
    offset: int = END
    starts: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """Where to start in partitions that are known already, if not at `offset`."""
    _taken: set[tuple[str, int]] = field(default_factory=set)
    _looked: bool = False

    def __post_init__(self) -> None:
        assert (self.topic is None) != (self.pattern is None), "a topic or a pattern"

    @property
    def is_complete(self) -> bool:
        """Whether the very partition that was asked for is taken, so that none can come."""
        return self.partition is not None and bool(self._taken)

    def wants(self, topic: str) -> bool:
        if self.pattern is not None:
            return topic not in self.skip and self.pattern.fullmatch(topic) is not None
        return topic == self.topic

    def take(self, partitions: Mapping[str, Sequence[int]]) -> list[Place]:
        """What to read in addition, given the partitions of the topics that exist now."""
        offset = self.offset if not self._looked or self.partition is not None else BEGINNING
        self._looked = True
        places = [
            Place(topic, partition, self.starts.get((topic, partition), offset))
            for topic, numbers in partitions.items()
            if self.wants(topic)
            for partition in numbers
            if self.partition in (None, partition) and (topic, partition) not in self._taken
        ]
        self._taken.update((place.topic, place.partition) for place in places)
        return sorted(places)

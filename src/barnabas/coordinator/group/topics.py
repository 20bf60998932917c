"""What groups need to know of the cluster's topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class TopicInfo(NamedTuple):
    """One topic."""

    name: str
    id: bytes
    partitions: int


class Topics(Protocol):
    """Port: the topics as the cluster's image has them now."""

    @property
    def version(self) -> int:
        """Grows with every change."""

    def get(self, name: str) -> TopicInfo | None: ...

    def by_id(self, topic_id: bytes) -> TopicInfo | None: ...

    def names(self) -> Iterable[str]:
        """All of them, internal ones too."""


class TopicTable:
    """Topics in two dictionaries: for tests, simulations, and whoever has no image."""

    def __init__(self, topics: Iterable[TopicInfo] = ()) -> None:
        self.version = 0
        self._by_name: dict[str, TopicInfo] = {}
        self._by_id: dict[bytes, TopicInfo] = {}
        for topic in topics:
            self.put(topic)

    def get(self, name: str) -> TopicInfo | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> TopicInfo | None:
        return self._by_id.get(topic_id)

    def names(self) -> Iterable[str]:
        return self._by_name

    def put(self, topic: TopicInfo) -> None:
        """Create or grow a topic."""
        self.remove(topic.name)
        self._by_name[topic.name] = topic
        self._by_id[topic.id] = topic
        self.version += 1

    def remove(self, name: str) -> None:
        before = self._by_name.pop(name, None)
        if before is not None:
            del self._by_id[before.id]
            self.version += 1

"""The partitions of this broker, found by name and by id; and what the image says of brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import NotLeader, UnknownTopicId, UnknownTopicOrPartition

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.replication.partition import Partition


class PartitionTable:
    """Look-ups only; `ReplicaManager` changes what is in it.  Loop thread only."""

    def __init__(self) -> None:
        self._image: ClusterImage | None = None
        self._by_name: dict[tuple[str, int], Partition] = {}
        self._by_id: dict[tuple[bytes, int], Partition] = {}

    def get(self, topic: str, index: int) -> Partition:
        partition = self._by_name.get((topic, index))
        if partition is None:
            raise self._absent(topic, index)
        return partition

    def get_by_id(self, topic_id: bytes, index: int) -> Partition:
        partition = self._by_id.get((topic_id, index))
        if partition is None:
            topic = self._image.topics_by_id.get(topic_id) if self._image else None
            raise UnknownTopicId if topic is None else self._absent(topic.name, index)
        return partition

    def find(self, topic: str, index: int) -> Partition | None:
        return self._by_name.get((topic, index))

    def find_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        return self._by_id.get((topic_id, index))

    def all(self) -> list[Partition]:
        return list(self._by_name.values())

    def _absent(self, topic: str, index: int) -> NotLeader | UnknownTopicOrPartition:
        elsewhere = self._image is not None and self._image.partition(topic, index) is not None
        return NotLeader() if elsewhere else UnknownTopicOrPartition()

    def may_be_in_sync(self, node_id: int, epoch: int) -> bool:
        """Whether that broker, in that life of it, may be in sync with a leader here."""
        broker = self._image.brokers.get(node_id) if self._image else None
        return broker is not None and broker.is_active and epoch in (-1, broker.epoch)

    def is_alive(self, node_id: int) -> bool:
        """Whether that broker is registered and not fenced."""
        broker = self._image.brokers.get(node_id) if self._image else None
        return broker is not None and not broker.fenced

    def rack_of(self, node_id: int) -> str | None:
        """Where that broker stands, if it is alive and says so."""
        broker = self._image.brokers.get(node_id) if self._image else None
        return None if broker is None or broker.fenced else broker.rack

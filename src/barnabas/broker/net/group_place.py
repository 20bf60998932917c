"""Which partition a group belongs to, looked up again only when the metadata changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.handlers.group_calls import knows_all

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


class GroupPlace:
    """For requests of one group that name these topics."""

    __slots__ = ("_at", "_broker", "_epoch", "_group_id", "_is_known", "_topics", "index")

    def __init__(self, broker: Broker, group_id: str, topics: Sequence[Any] = ()) -> None:
        """`topics` as a commit names them, with their partitions."""
        self._broker = broker
        self._group_id = group_id
        self._topics = topics
        self.index = -1
        self._look()

    def is_known(self) -> bool:
        """Whether `index` is the group's partition, and all partitions of the topics exist."""
        image = self._broker.image
        if image.applied_offset != self._at or image.applied_epoch != self._epoch:
            self._look()
        return self._is_known

    def _look(self) -> None:
        groups, image = self._broker.groups, self._broker.image
        self._at, self._epoch = image.applied_offset, image.applied_epoch
        self._is_known = groups.topic in image.topics and knows_all(image, self._topics)
        if self._is_known:
            self.index = groups.partition_of(self._group_id)

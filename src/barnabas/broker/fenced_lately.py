"""Brokers that died a moment ago: who asks for their partitions is still told where they were.

A client that learns in one answer that a partition has another leader and that the old one is gone
may lose track of the partition: librdkafka 2.16 takes it from the new leader again while it clears
the old one away, and asks about it a second later.  Apache Kafka names a dead broker as long as its
session lasts, nine seconds; here the next leader is elected at once, and the dead one is named a
while longer.  Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, ImageChanges

NAMED_S = 3.0
"""Clients that have lost a leader ask every second."""


class FencedLately:
    """By id, and until when."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: dict[int, float] = {}

    def apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        """A broker that was fenced and did not leave by itself is remembered."""
        for broker_id, before in changes.brokers.items():
            broker = image.brokers.get(broker_id)
            if broker is None or not broker.fenced:
                self._until.pop(broker_id, None)
            elif before is not None and not before.fenced and not broker.in_controlled_shutdown:
                self._until[broker_id] = self._monotonic() + NAMED_S

    def ids(self) -> Collection[int]:
        if self._until:
            now = self._monotonic()
            self._until = {node: until for node, until in self._until.items() if now < until}
        return self._until.keys()

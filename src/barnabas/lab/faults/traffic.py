"""What passed through the relays so far: the numbers that conditions compare.  Pure.

Everything is counted when a frame passes, before it is handed on: whoever waits for a number acts
before the receiver of that frame can.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

Place = tuple[str, int]
"""A topic and the number of a partition."""


@dataclass(slots=True)
class Traffic:
    """Counts since the cluster was made; no restart of a broker sets them back.

    Changed by the relays' thread alone; others get copies (`LabCluster.traffic`).
    """

    sent: Counter[Place] = field(default_factory=Counter)
    """Records in Produce requests that reached the relay, tried again or not."""
    acked: Counter[Place] = field(default_factory=Counter)
    """Records whose leader answered without an error.  Whether the client ever saw the answer is
    another matter."""
    refused: Counter[Place] = field(default_factory=Counter)
    """Records whose leader answered with an error, such as NOT_ENOUGH_REPLICAS."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Error codes of those answers by name, one for each partition of an answer."""
    acked_end: dict[Place, int] = field(default_factory=dict)
    """The offset behind the last record that was acknowledged."""
    positions: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """Topic, partition, follower: the offset that this follower asked for last, that is, the end of
    its log as its leader knows it."""
    committed: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Group, topic, partition: the offset of the last commit that was answered without an error."""
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    """API by name (`Produce`) and broker: requests that reached the relay."""

    def copy(self) -> Traffic:
        return Traffic(
            sent=self.sent.copy(),
            acked=self.acked.copy(),
            refused=self.refused.copy(),
            refusals=self.refusals.copy(),
            acked_end=dict(self.acked_end),
            positions=dict(self.positions),
            committed=dict(self.committed),
            requests=self.requests.copy(),
        )

    def total(self, counts: Counter[Place], topic: str, partition: int | None) -> int:
        """Of a partition, or of all partitions of a topic."""
        if partition is not None:
            return counts[topic, partition]
        return sum(count for place, count in counts.items() if place[0] == topic)

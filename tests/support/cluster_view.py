"""What a client sees of a cluster: brokers, leaders, in-sync replicas."""

from __future__ import annotations

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from eventually import eventually

PATIENCE_S = 30


class ClusterView:
    """Asks whichever of the bootstrap servers answers."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, name: str, partitions: int = 1, replicas: int = 3, **config: str) -> None:
        topic = NewTopic(
            name,
            partitions,
            replicas,
            config={key.replace("_", "."): value for key, value in config.items()},
        )
        self._admin.create_topics([topic])[name].result(PATIENCE_S)

    def brokers(self) -> set[int]:
        """Those that clients are told of."""
        try:
            return set(self._admin.list_topics(timeout=5).brokers)
        except KafkaException:
            return set()

    def leaders(self, topic: str) -> dict[int, int]:
        """The leader of each partition; -1: none.  Nothing while nobody answers."""
        return {index: leader for index, (leader, _) in self._partitions(topic).items()}

    def isr(self, topic: str) -> dict[int, set[int]]:
        return {index: isr for index, (_, isr) in self._partitions(topic).items()}

    def _partitions(self, topic: str) -> dict[int, tuple[int, set[int]]]:
        try:
            found = self._admin.list_topics(topic, timeout=5).topics[topic]
        except KafkaException:
            return {}
        return {
            index: (partition.leader, set(partition.isrs))
            for index, partition in found.partitions.items()
        }

    def await_brokers(self, *wanted: int) -> None:
        eventually(lambda: self.brokers() == set(wanted), what=f"brokers {wanted}")

    def await_isr(self, topic: str, *wanted: int) -> None:
        """Every partition has exactly these replicas in sync."""
        eventually(
            lambda: (isr := self.isr(topic)) and all(one == set(wanted) for one in isr.values()),
            what=f"in-sync replicas {wanted} of {topic}",
        )

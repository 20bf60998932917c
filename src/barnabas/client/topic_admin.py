"""Topics of a cluster: look at them, create, grow and delete them.

A thin layer over confluent-kafka's admin client that gives plain values and one-line errors.  What
librdkafka has no call for (eligible leader replicas, reassignments) is asked through
`replica_details.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.client.connect import Troubles, Warn, fetch_metadata, open_admin, result_of
from barnabas.client.errors import ClientError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
REQUEST_TIMEOUT_S = 30.0
DEFAULT_SOURCE = 5
"""Of a configuration value that nobody set, in DescribeConfigs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    partition: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    elr: Sequence[int] | None = None
    """Eligible leader replicas; None if the broker cannot be asked."""
    last_known_elr: Sequence[int] | None = None
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()
    """Replicas that a reassignment under way adds and removes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    name: str
    topic_id: str
    is_internal: bool
    partitions: Sequence[PartitionInfo]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    name: str
    value: str
    source: int
    """As in DescribeConfigs: 1 this topic, 2-4 brokers, 5 nobody."""

    @property
    def is_default(self) -> bool:
        return self.source == DEFAULT_SOURCE


@dataclass(slots=True)
class TopicAdmin:
    """One thread; every call blocks until the broker has answered, or raises `ClientError`."""

    admin: AdminClient
    troubles: Troubles
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def connect(cls, properties: Mapping[str, str], warn: Warn) -> TopicAdmin:
        admin, troubles = open_admin(properties, warn)
        return cls(admin, troubles, properties)

    def names(self) -> list[str]:
        """Names of all topics, sorted."""
        return sorted(self._metadata().topics)

    def live_brokers(self) -> set[int]:
        return set(self._metadata().brokers)

    def _metadata(self) -> Any:
        return fetch_metadata(self.admin, self.troubles)

    def describe(self, names: Sequence[str]) -> list[TopicInfo]:
        """What is known of these topics, in this order; one deleted meanwhile is left out."""
        from confluent_kafka import TopicCollection

        if not names:
            return []
        futures = self.admin.describe_topics(
            TopicCollection(list(names)), request_timeout=REQUEST_TIMEOUT_S
        )
        found = []
        for name in names:
            try:
                found.append(_topic_info(self._result(futures[name])))
            except ClientError as error:
                if getattr(error, "name", "") != "UNKNOWN_TOPIC_OR_PART":
                    raise
        return found

    def configs(self, names: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        """All settings of these topics, sorted by name."""
        from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it has no __all__
            ConfigResource,
            ResourceType,
        )

        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        futures = self.admin.describe_configs(resources, request_timeout=REQUEST_TIMEOUT_S)
        return {
            resource.name: [
                ConfigEntry(name=key, value=entry.value or "", source=int(entry.source))
                for key, entry in sorted(self._result(future).items())
            ]
            for resource, future in futures.items()
        }

    def create(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignment: Sequence[Sequence[int]] = (),
        config: Mapping[str, str] | None = None,
    ) -> None:
        """-1 leaves a number to the broker; an assignment names the replicas of each partition."""
        from confluent_kafka.cimpl import NewTopic

        if assignment:
            topic = NewTopic(
                name,
                num_partitions=len(assignment),
                replica_assignment=[list(replicas) for replicas in assignment],
                config=dict(config or {}),
            )
        else:
            topic = NewTopic(
                name,
                num_partitions=partitions,
                replication_factor=replication_factor,
                config=dict(config or {}),
            )
        self._wait(self.admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT_S))

    def add_partitions(
        self, name: str, *, total: int, assignment: Sequence[Sequence[int]] = ()
    ) -> None:
        """Grows a topic to a total; the assignment is that of the new partitions alone."""
        from confluent_kafka.cimpl import NewPartitions

        if assignment:
            grown = NewPartitions(name, total, [list(replicas) for replicas in assignment])
        else:
            grown = NewPartitions(name, total)
        self._wait(self.admin.create_partitions([grown], request_timeout=REQUEST_TIMEOUT_S))

    def delete(self, names: Sequence[str]) -> None:
        self._wait(self.admin.delete_topics(list(names), request_timeout=REQUEST_TIMEOUT_S))

    def _wait(self, futures: Mapping[str, Future[Any]]) -> None:
        for future in futures.values():
            self._result(future)

    def _result(self, future: Future[Any]) -> Any:
        return result_of(future, self.admin, self.troubles)


def _topic_info(described: Any) -> TopicInfo:
    return TopicInfo(
        name=described.name,
        topic_id=str(described.topic_id).translate(_URL_SAFE),
        is_internal=described.is_internal,
        partitions=[
            PartitionInfo(
                partition=partition.id,
                leader=None if partition.leader is None else _leader(partition.leader.id),
                replicas=_ids(partition.replicas),
                isr=_ids(partition.isr),
            )
            for partition in sorted(described.partitions, key=lambda each: each.id)
        ],
    )


_URL_SAFE = str.maketrans("+/", "-_")
"""librdkafka writes ids in the other base64."""


def _leader(node_id: int) -> int | None:
    return node_id if node_id >= 0 else None


def _ids(nodes: Iterable[Any]) -> list[int]:
    return [node.id for node in nodes]

"""Replicas of partitions: where they are, moving them between brokers and between log directories.

librdkafka has no call for most of this: it goes through our own codec.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from barnabas.base.error_codes import ErrorCode
from barnabas.client.brokers import (
    REQUEST_TIMEOUT_S,
    OverBrokers,
    Place,
    by_topic,
    check_code,
    refusal,
)
from barnabas.client.cluster_admin import ClusterAdmin, Endpoint
from barnabas.client.errors import RefusedError
from barnabas.client.wire import Connection
from barnabas.protocol.messages import (
    alter_partition_reassignments,
    alter_replica_log_dirs,
    describe_log_dirs,
    incremental_alter_configs,
    list_partition_reassignments,
)

REQUEST_TIMEOUT_MS = int(REQUEST_TIMEOUT_S * 1000)
TOPIC, BROKER = 2, 4
"""Kinds of what has settings."""
SET, DELETE = 0, 1

Replica = tuple[str, int, int]
"""A topic, the number of a partition, and a broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A partition on its way.  `replicas` are all of them, old and new."""

    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReplica:
    """A replica in a log directory."""

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool
    """A copy that will take the place of the replica in another directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    path: str
    error: str | None
    """Name of the error, if the directory cannot be used."""
    replicas: Sequence[StoredReplica]


@dataclass(slots=True)
class ReplicaAdmin(OverBrokers):
    """One thread; every call blocks until the brokers have answered, or raises `ClientError`."""

    def cluster(self) -> Sequence[Endpoint]:
        """The brokers that are there, by id; none if controllers are asked, who do not tell."""
        if self.brokers.of_controllers:
            return ()
        return ClusterAdmin(self.brokers).view().endpoints

    def forget(self, broker_id: int) -> None:
        """Ends the connection to a broker that did not answer; the next call opens another."""
        connection = self.brokers.connections.pop(broker_id, None)
        if connection is not None:
            connection.close()

    def assignment(self, topics: Iterable[str]) -> dict[Place, tuple[int, ...]]:
        """The replicas of all partitions of these topics, of those that exist."""
        found: dict[Place, tuple[int, ...]] = {}
        for topic in sorted(set(topics)):
            try:
                places = self.brokers.places([topic])
            except RefusedError as error:
                if error.name not in ("UNKNOWN_TOPIC_OR_PARTITION", "INVALID_TOPIC_EXCEPTION"):
                    raise
                continue
            found |= {place: where.replicas for place, where in places.items()}
        return found

    def reassignments(self) -> dict[Place, Reassignment]:
        """All partitions that are on their way."""
        answer = self.brokers.controller().call(
            list_partition_reassignments.ListPartitionReassignmentsRequest(
                timeout_ms=REQUEST_TIMEOUT_MS, topics=None
            ),
            list_partition_reassignments.ListPartitionReassignmentsResponse,
        )
        check_code(answer.error_code, answer.error_message)
        return {
            (topic.name, partition.partition_index): Reassignment(
                replicas=tuple(partition.replicas),
                adding=tuple(partition.adding_replicas),
                removing=tuple(partition.removing_replicas),
            )
            for topic in answer.topics
            for partition in topic.partitions
        }

    def reassign(self, targets: Mapping[Place, Sequence[int] | None]) -> dict[Place, RefusedError]:
        """Starts moves, or with None ends them; those that were refused."""
        answer = self.brokers.controller().call(
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(
                timeout_ms=REQUEST_TIMEOUT_MS,
                topics=[
                    alter_partition_reassignments.ReassignableTopic(
                        name=topic,
                        partitions=[
                            alter_partition_reassignments.ReassignablePartition(
                                partition_index=number, replicas=_listed(targets[topic, number])
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in by_topic(targets).items()
                ],
            ),
            alter_partition_reassignments.AlterPartitionReassignmentsResponse,
        )
        check_code(answer.error_code, answer.error_message)
        return {
            (topic.name, partition.partition_index): error
            for topic in answer.responses
            for partition in topic.partitions
            if (error := refusal(partition.error_code, partition.error_message)) is not None
        }

    def change_settings(self, kind: int, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        """Sets settings of topics or brokers, by name; None deletes one."""
        resources = [
            incremental_alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental_alter_configs.AlterableConfig(
                        name=key, config_operation=DELETE if value is None else SET, value=value
                    )
                    for key, value in settings.items()
                ],
            )
            for name, settings in sorted(changes.items())
        ]
        if kind != BROKER:
            _change(self.brokers.controller(), resources)
            return
        for resource in resources:
            # A broker judges its own settings; those of one that is away, any other passes on.
            broker_id = int(resource.resource_name)
            is_there = broker_id in self.brokers.ids() and not self.brokers.of_controllers
            at = self.brokers.to(broker_id) if is_there else self.brokers.controller()
            _change(at, [resource])

    def log_directories(
        self, broker_id: int, places: Collection[Place] | None = None
    ) -> list[LogDirectory]:
        """The log directories of a broker, with all of their replicas or those of some partitions.

        A broker that is not there is a `ClientError`.
        """
        asked = None if places is None else by_topic(places)
        answer = self.brokers.to(broker_id).call(
            describe_log_dirs.DescribeLogDirsRequest(
                topics=None
                if asked is None
                else [
                    describe_log_dirs.DescribableLogDirTopic(topic=topic, partitions=numbers)
                    for topic, numbers in asked.items()
                ]
            ),
            describe_log_dirs.DescribeLogDirsResponse,
        )
        check_code(answer.error_code)
        return [
            LogDirectory(
                path=each.log_dir,
                error=_error_name(each.error_code),
                replicas=[
                    StoredReplica(
                        topic=topic.name,
                        partition=partition.partition_index,
                        size=partition.partition_size,
                        offset_lag=partition.offset_lag,
                        is_future=partition.is_future_key,
                    )
                    for topic in each.topics
                    for partition in topic.partitions
                ],
            )
            for each in answer.results
        ]

    def move_to_directories(
        self, directories: Mapping[Replica, str]
    ) -> dict[Replica, RefusedError | None]:
        """Has replicas moved to other log directories of their brokers; what was in the way."""
        outcome: dict[Replica, RefusedError | None] = {}
        for broker_id in sorted({broker for _, _, broker in directories}):
            wanted: dict[str, list[Place]] = {}
            for (topic, number, broker), path in sorted(directories.items()):
                if broker == broker_id:
                    wanted.setdefault(path, []).append((topic, number))
            answer = self.brokers.to(broker_id).call(
                alter_replica_log_dirs.AlterReplicaLogDirsRequest(
                    dirs=[
                        alter_replica_log_dirs.AlterReplicaLogDir(
                            path=path,
                            topics=[
                                alter_replica_log_dirs.AlterReplicaLogDirTopic(
                                    name=topic, partitions=numbers
                                )
                                for topic, numbers in by_topic(places).items()
                            ],
                        )
                        for path, places in wanted.items()
                    ]
                ),
                alter_replica_log_dirs.AlterReplicaLogDirsResponse,
            )
            for topic_result in answer.results:
                for partition in topic_result.partitions:
                    replica = (topic_result.topic_name, partition.partition_index, broker_id)
                    outcome[replica] = refusal(partition.error_code)
        return outcome


def _change(
    connection: Connection, resources: Sequence[incremental_alter_configs.AlterConfigsResource]
) -> None:
    if not resources:
        return
    answer = connection.call(
        incremental_alter_configs.IncrementalAlterConfigsRequest(resources=list(resources)),
        incremental_alter_configs.IncrementalAlterConfigsResponse,
    )
    for each in answer.responses:
        check_code(each.error_code, each.error_message)


def _listed(replicas: Sequence[int] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _error_name(code: int) -> str | None:
    if code == ErrorCode.NONE:
        return None
    error = refusal(code)
    assert error is not None
    return error.name

"""Details of partitions that librdkafka cannot ask for: eligible leader replicas, reassignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.client.connect import ANSWER_TIMEOUT_S
from barnabas.client.topic_admin import PartitionInfo, TopicInfo

if TYPE_CHECKING:
    from barnabas.client.wire import Connection

Elr = tuple[Sequence[int], Sequence[int]]
Moves = tuple[Sequence[int], Sequence[int]]
Place = tuple[str, int]


def add_replica_details(
    topics: Sequence[TopicInfo], properties: Mapping[str, str], *, limit: int
) -> list[TopicInfo]:
    """The same topics, with what the broker tells beyond Metadata.

    As far as our own connection can log in, and the broker knows the requests: what it does not
    know stays None.  `limit` is the most partitions in one answer.
    """
    from barnabas.client.login import can_log_in, login_of

    if not topics or not can_log_in(properties):
        return list(topics)
    from barnabas.client.wire import connect_any
    from barnabas.protocol.apis import ApiKey

    elr: dict[Place, Elr] = {}
    moves: dict[Place, Moves] = {}
    with connect_any(
        properties["bootstrap.servers"], timeout_s=ANSWER_TIMEOUT_S, login=login_of(properties)
    ) as connection:
        if connection.version_of(ApiKey.DESCRIBE_TOPIC_PARTITIONS) is not None:
            elr = _eligible(connection, [topic.name for topic in topics], limit)
        if connection.version_of(ApiKey.LIST_PARTITION_REASSIGNMENTS) is not None:
            moves = _reassignments(connection)
    return [
        replace(
            topic, partitions=[_detailed(topic.name, each, elr, moves) for each in topic.partitions]
        )
        for topic in topics
    ]


def _detailed(
    topic: str, partition: PartitionInfo, elr: Mapping[Place, Elr], moves: Mapping[Place, Moves]
) -> PartitionInfo:
    place = (topic, partition.partition)
    adding, removing = moves.get(place, ((), ()))
    detailed = replace(partition, adding=adding, removing=removing)
    if place not in elr:
        return detailed
    eligible, last_known = elr[place]
    return replace(detailed, elr=eligible, last_known_elr=last_known)


def _eligible(connection: Connection, names: Sequence[str], limit: int) -> dict[Place, Elr]:
    from barnabas.protocol.messages.describe_topic_partitions import (
        Cursor,
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        TopicRequest,
    )

    found: dict[Place, Elr] = {}
    cursor: Cursor | None = None
    while True:
        answer = connection.call(
            DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=name) for name in sorted(names)],
                response_partition_limit=limit,
                cursor=cursor,
            ),
            DescribeTopicPartitionsResponse,
        )
        for topic in answer.topics:
            for partition in topic.partitions:
                found[topic.name or "", partition.partition_index] = (
                    partition.eligible_leader_replicas or (),
                    partition.last_known_elr or (),
                )
        if answer.next_cursor is None:
            return found
        following = answer.next_cursor
        assert following != cursor, "a page that does not get on"
        cursor = following


def _reassignments(connection: Connection) -> dict[Place, Moves]:
    from barnabas.protocol.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )

    answer = connection.call(
        ListPartitionReassignmentsRequest(timeout_ms=int(ANSWER_TIMEOUT_S * 1000), topics=None),
        ListPartitionReassignmentsResponse,
    )
    return {
        (topic.name, partition.partition_index): (
            partition.adding_replicas,
            partition.removing_replicas,
        )
        for topic in answer.topics
        for partition in topic.partitions
    }

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from barnabas.client import wire
from barnabas.client.replica_details import add_replica_details
from barnabas.client.topic_admin import PartitionInfo, TopicInfo
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import describe_topic_partitions as described
from barnabas.protocol.messages import list_partition_reassignments as moves

PLAIN = {"bootstrap.servers": "h:1"}


def topic(name: str, partitions: int) -> TopicInfo:
    return TopicInfo(
        name=name,
        topic_id="A" * 22,
        is_internal=False,
        partitions=[
            PartitionInfo(partition=number, leader=1, replicas=[1, 2], isr=[1])
            for number in range(partitions)
        ],
    )


@dataclass(slots=True)
class FakeConnection:
    """Answers one partition at a time; knows only the APIs it is told to."""

    knows: set[ApiKey]
    partitions: list[tuple[str, int]]
    requests: list[Any] = field(default_factory=list)

    def __enter__(self) -> FakeConnection:
        return self

    def __exit__(self, *_: object) -> None: ...

    def version_of(self, key: ApiKey) -> int | None:
        return 0 if key in self.knows else None

    def call(self, request: Any, answer: type[Any]) -> Any:
        self.requests.append(request)
        if answer is moves.ListPartitionReassignmentsResponse:
            move = moves.OngoingPartitionReassignment(
                partition_index=1, adding_replicas=[3], removing_replicas=[2]
            )
            return answer(topics=[moves.OngoingTopicReassignment(name="a", partitions=[move])])
        cursor = request.cursor
        at = 0
        if cursor is not None:
            at = self.partitions.index((cursor.topic_name, cursor.partition_index))
        name, number = self.partitions[at]
        following = self.partitions[at + 1] if at + 1 < len(self.partitions) else None
        partition = described.DescribeTopicPartitionsResponsePartition(
            partition_index=number, eligible_leader_replicas=[number], last_known_elr=None
        )
        return answer(
            topics=[
                described.DescribeTopicPartitionsResponseTopic(name=name, partitions=[partition])
            ],
            next_cursor=None
            if following is None
            else described.Cursor(topic_name=following[0], partition_index=following[1]),
        )


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> FakeConnection:
    fake = FakeConnection(
        {ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.LIST_PARTITION_REASSIGNMENTS},
        [("a", 0), ("a", 1), ("b", 0)],
    )
    monkeypatch.setattr(wire, "connect_any", lambda servers, *, timeout_s, login: fake)
    return fake


def test_all_pages_are_asked_for_and_put_to_their_partitions(connection: FakeConnection) -> None:
    a, b = add_replica_details([topic("a", 2), topic("b", 1)], PLAIN, limit=1)

    assert [each.elr for each in (*a.partitions, *b.partitions)] == [[0], [1], [0]]
    assert [each.last_known_elr for each in (*a.partitions, *b.partitions)] == [(), (), ()]
    assert [(each.adding, each.removing) for each in a.partitions] == [((), ()), ([3], [2])]
    assert [request.response_partition_limit for request in connection.requests[:3]] == [1, 1, 1]


def test_what_the_broker_does_not_know_stays_unknown(connection: FakeConnection) -> None:
    connection.knows.clear()

    (a,) = add_replica_details([topic("a", 1)], PLAIN, limit=1)

    assert a == topic("a", 1)
    assert connection.requests == []


def test_a_listener_that_is_not_plain_is_not_asked(connection: FakeConnection) -> None:
    secure = {**PLAIN, "security.protocol": "SASL_SSL"}

    assert add_replica_details([topic("a", 1)], secure, limit=1) == [topic("a", 1)]
    assert add_replica_details([], PLAIN, limit=1) == []
    assert connection.requests == []

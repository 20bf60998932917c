"""What is read, and where it begins and ends, asked of brokers that come and go."""

from __future__ import annotations

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.base.error_codes import ErrorCode
from barnabas.client.errors import ClientError, NotReachableError, PropertyError, RefusedError
from barnabas.pipelines.cluster import Cluster, passes
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.options import Choice
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)
    made.leaders |= {("other", 0): 1}
    made.respond[ListOffsetsRequest] = offsets
    return made


def offsets(broker: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Every partition ends at its broker's number, times a hundred with what is not committed."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=each.partition_index,
                        offset=broker if request.isolation_level else 100 * broker,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def cluster() -> Cluster:
    return Cluster(PLAIN, timeout_s=5)


def test_topics_patterns_and_partitions(brokers: FakeCluster) -> None:
    asked = cluster()

    assert set(asked.chosen(Choice(topics=("t",)))) == {("t", 0), ("t", 1)}
    assert set(asked.chosen(Choice(pattern="o.*"))) == {("other", 0)}
    assert set(asked.chosen(Choice(pattern="o"))) == set()
    assert set(asked.chosen(Choice(places=(("t", 1),)))) == {("t", 1)}


def test_what_is_not_there_is_named(brokers: FakeCluster) -> None:
    with pytest.raises(PipelineError, match="topic nope does not exist"):
        cluster().chosen(Choice(topics=("t", "nope")))
    with pytest.raises(PipelineError, match="no partition t-7"):
        cluster().chosen(Choice(places=(("t", 7),)))


def test_leaders_are_asked_for_offsets(brokers: FakeCluster) -> None:
    asked = cluster()

    assert asked.offsets({("t", 0): -1, ("t", 1): -1}) == {("t", 0): 100, ("t", 1): 200}
    assert asked.offsets({("t", 1): -1}, is_committed_only=True) == {("t", 1): 2}
    assert asked.offsets({}) == {}


def test_another_broker_is_asked_when_one_is_gone(brokers: FakeCluster) -> None:
    failures = [ClientError("gone"), RefusedError("NOT_LEADER_OR_FOLLOWER", "moved")]

    def failing(broker: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        if failures:
            raise failures.pop()
        return offsets(broker, request)

    brokers.respond[ListOffsetsRequest] = failing
    asked = cluster()

    assert asked.offsets({("t", 0): -1}) == {("t", 0): 100}
    asked.close()
    assert brokers.open_connections == 0


def test_that_nobody_is_there_is_said_at_once_unless_somebody_was(brokers: FakeCluster) -> None:
    nowhere = Cluster({"bootstrap.servers": "nobody:1"}, timeout_s=30)

    with pytest.raises(NotReachableError):
        nowhere.offsets({("t", 0): -1})


def test_some_faults_pass_and_some_do_not() -> None:
    assert passes(ClientError("connection closed"))
    assert passes(NotReachableError("h:1"))
    assert passes(RefusedError(ErrorCode.NOT_LEADER_OR_FOLLOWER.name, ""))
    assert not passes(RefusedError(ErrorCode.TOPIC_AUTHORIZATION_FAILED.name, ""))
    assert not passes(PropertyError("sasl.mechanism"))

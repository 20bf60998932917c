from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)

UNASSIGNED = bytes(15) + b"\1"


def assign(world: Any, directory: bytes, *indexes: int, topic_id: bytes | None = None) -> Any:
    """From broker 1."""
    partitions = [RequestPartitionData(partition_index=index) for index in indexes]
    return AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=world.image.brokers[1].epoch,
        directories=[
            RequestDirectoryData(
                id=directory,
                topics=[RequestTopicData(topic_id=topic_id or world.t, partitions=partitions)],
            )
        ],
    )


def codes(response: AssignReplicasToDirsResponse) -> list[int]:
    return [
        partition.error_code
        for directory in response.directories
        for topic in directory.topics
        for partition in topic.partitions
    ]


@pytest.fixture
def cluster(world: Any) -> Any:
    world.add_broker(1, dirs=2)
    world.add_broker(2)
    world.t = world.add_topic("t", [1, 2], [2, 1], [2])
    return world


def test_the_image_knows_in_which_directory_a_replica_is(cluster: Any) -> None:
    place = cluster.image.brokers[1].log_dirs[1]

    decision = cluster.decide(assign(cluster, place, 0, 1))

    assert decision.records == (
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=cluster.t, directories=[place, UNASSIGNED]
        ),
        mr.PartitionChangeRecord(
            partition_id=1, topic_id=cluster.t, directories=[UNASSIGNED, place]
        ),
    )
    assert codes(decision.response) == [0, 0]
    cluster.replay(*decision.records)
    assert cluster.decide(assign(cluster, place, 0, 1)).records == (), "said already"


def test_a_replica_in_a_directory_that_is_gone_is_out_of_sync(cluster: Any) -> None:
    cluster.do(assign(cluster, b"gone" * 4, 0, 1))

    assert cluster.image.partition("t", 0).leader == 2
    assert cluster.image.partition("t", 0).isr == (2,)
    assert cluster.image.partition("t", 1).isr == (2,)


def test_only_replicas_of_that_broker_have_a_place_on_it(cluster: Any) -> None:
    place = cluster.image.brokers[1].log_dirs[0]

    assert codes(cluster.do(assign(cluster, place, 2, 9, 0, 0))) == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    unknown = assign(cluster, place, 0, topic_id=b"x" * 16)
    assert codes(cluster.do(unknown)) == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_an_old_registration_changes_nothing(cluster: Any) -> None:
    request = assign(cluster, b"d" * 16, 0)
    request.broker_epoch = 77

    assert cluster.decide(request) == Decision(
        response=AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    )
    assert decider.refuse(request, StorageFailed()) == AssignReplicasToDirsResponse(error_code=56)

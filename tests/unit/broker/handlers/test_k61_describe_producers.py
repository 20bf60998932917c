from __future__ import annotations

from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k61_describe_producers import describe_producers
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)


def test_the_producers_of_each_partition(world: Any) -> None:
    world.topic("t", partitions=2)
    world.produce("t", 500, 501, producer_id=7, producer_epoch=2, base_sequence=0)
    world.produce("t", 502, producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0, 1])])

    assert world.call(describe_producers, request, 0) == DescribeProducersResponse(
        topics=[
            TopicResponse(
                name="t",
                partitions=[
                    PartitionResponse(
                        partition_index=0,
                        active_producers=[
                            ProducerState(
                                producer_id=7,
                                producer_epoch=2,
                                last_sequence=1,
                                last_timestamp=501,
                                coordinator_epoch=-1,
                                current_txn_start_offset=-1,
                            ),
                            ProducerState(
                                producer_id=8,
                                producer_epoch=0,
                                last_sequence=0,
                                last_timestamp=502,
                                coordinator_epoch=-1,
                                current_txn_start_offset=2,
                            ),
                        ],
                    ),
                    PartitionResponse(partition_index=1),
                ],
            )
        ]
    )


def test_a_follower_tells_of_its_replica(world: Any) -> None:
    world.register(2)
    world.topic("followed", replicas=(2, 1))
    request = DescribeProducersRequest(
        topics=[TopicRequest(name="followed", partition_indexes=[0])]
    )

    assert world.call(describe_producers, request, 0).topics[0].partitions == [
        PartitionResponse(partition_index=0)
    ]


def test_each_partition_fails_by_itself(world: Any) -> None:
    world.register(2)
    world.topic("t")
    world.topic("elsewhere", replicas=(2,))
    request = DescribeProducersRequest(
        topics=[
            TopicRequest(name="t", partition_indexes=[5, 0]),
            TopicRequest(name="two words", partition_indexes=[0]),
            TopicRequest(name="elsewhere", partition_indexes=[0]),
        ]
    )

    answer = world.call(describe_producers, request, 0)

    errors = [[p.error_code for p in topic.partitions] for topic in answer.topics]
    assert errors == [
        [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE],
        [ErrorCode.INVALID_TOPIC_EXCEPTION],
        [ErrorCode.NOT_LEADER_OR_FOLLOWER],
    ]
    assert all(
        bool(p.error_message) == bool(p.error_code) for t in answer.topics for p in t.partitions
    )

"""The partitions that messages name are found, whatever the API calls them."""

from __future__ import annotations

import pytest

from barnabas.lab.faults.places import places_in
from barnabas.protocol.message import Struct
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

ID = bytes(15) + b"\7"
NAMES = {ID: "t"}


@pytest.mark.parametrize(
    ("message", "places"),
    [
        (
            ProduceRequest(
                topic_data=[
                    TopicProduceData(
                        name="t",
                        partition_data=[
                            PartitionProduceData(index=0),
                            PartitionProduceData(index=3),
                        ],
                    )
                ]
            ),
            {("t", -1), ("t", 0), ("t", 3)},
        ),
        (
            FetchRequest(
                topics=[FetchTopic(topic_id=ID, partitions=[FetchPartition(partition=1)])]
            ),
            {("t", -1), ("t", 1)},
        ),
        (
            FetchRequest(
                topics=[FetchTopic(topic_id=bytes(16), partitions=[FetchPartition(partition=1)])]
            ),
            set(),
        ),
        (
            FetchResponse(
                responses=[
                    FetchableTopicResponse(topic="t", partitions=[PartitionData(partition_index=2)])
                ]
            ),
            {("t", -1), ("t", 2)},
        ),
        (
            OffsetCommitRequest(
                topics=[
                    OffsetCommitRequestTopic(
                        name="t", partitions=[OffsetCommitRequestPartition(partition_index=4)]
                    )
                ]
            ),
            {("t", -1), ("t", 4)},
        ),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0, 5])]
            ),
            {("t", -1), ("t", 0), ("t", 5)},
        ),
        (MetadataRequest(topics=[MetadataRequestTopic(name="t")]), {("t", -1)}),
        (JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="t")]), set()),
        (HeartbeatRequest(group_id="t"), set()),
    ],
)
def test_partitions_are_found_by_topic_name_or_id(
    message: Struct, places: set[tuple[str, int]]
) -> None:
    assert places_in(message, NAMES) == places

"""DescribeQuorum (KIP-595): who writes the metadata log, and how far those who read it are.

One controller at a time writes, and its journal decides who: there is one voter.  Brokers observe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_handlers.k01_fetch import METADATA_TOPIC
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart


@handles(ApiKey.DESCRIBE_QUORUM, versions=(0, 2), on=CONTROLLER)
def describe_quorum(
    part: ControllerPart, ctx: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        error_message=None,
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _described(part, topic.topic_name, asked.partition_index)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
        nodes=[
            Node(
                node_id=part.node_id,
                listeners=[
                    Listener(name=one.name, host=one.advertised_host, port=one.advertised_port)
                    for one in part.listeners
                ],
            )
        ],
    )


def _described(part: ControllerPart, topic: str, index: int) -> ResponsePartitionData:
    if topic != METADATA_TOPIC or index != 0:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ResponsePartitionData(partition_index=index, error_code=int(code))
    active = part.active
    if active is None or active.feed is None:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ResponsePartitionData(partition_index=index, error_code=int(code))
    now_ms = part.clock.now_ms()
    end_offset = active.feed.log.end_offset
    return ResponsePartitionData(
        partition_index=index,
        error_message=None,
        leader_id=part.node_id,
        leader_epoch=active.epoch,
        high_watermark=end_offset,
        current_voters=[
            ReplicaState(
                replica_id=part.node_id,
                log_end_offset=end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        ],
        observers=[
            ReplicaState(
                replica_id=reader_id,
                log_end_offset=reader.fetch_offset,
                last_fetch_timestamp=reader.fetched_ms,
                last_caught_up_timestamp=reader.caught_up_ms,
            )
            for reader_id, reader in sorted(active.feed.readers.items())
        ],
    )

"""DescribeQuorum (KIP-595), at a broker: the controller knows; a node that is both answers itself.

v1: times of the last fetches (KIP-836).  v2: directory ids, endpoints of the controllers (KIP-853).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

METADATA_TOPIC = "__cluster_metadata"


@handles(ApiKey.DESCRIBE_QUORUM, versions=(0, 2))
def describe_quorum(
    broker: Broker, ctx: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse | Later:
    if broker.link is None:
        return _own(broker, request)
    later = Later()

    def answered(response: Message | None) -> None:
        unknown = ErrorCode.COORDINATOR_NOT_AVAILABLE  # the client asks again
        later.resolve(response or DescribeQuorumResponse(error_code=int(unknown)))

    broker.link.send(request, answered)
    return later


def _own(broker: Broker, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """One voter, which is this node."""
    return DescribeQuorumResponse(
        error_message=None,
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _described(broker, topic.topic_name, asked.partition_index)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _described(broker: Broker, topic: str, index: int) -> ResponsePartitionData:
    if topic != METADATA_TOPIC or index != 0:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ResponsePartitionData(partition_index=index, error_code=int(code))
    now_ms, end_offset = broker.clock.now_ms(), broker.image.applied_offset + 1
    return ResponsePartitionData(
        error_message=None,
        leader_id=broker.node_id,
        leader_epoch=broker.image.applied_epoch,
        high_watermark=end_offset,
        current_voters=[
            ReplicaState(
                replica_id=broker.node_id,
                log_end_offset=end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        ],
    )

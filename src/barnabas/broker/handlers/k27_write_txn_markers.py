"""WriteTxnMarkers: end transactions in partitions that this broker leads.

Sent by coordinators, and by tools that abort a transaction which nobody ends (KIP-664).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.WRITE_TXN_MARKERS, versions=(1, 1))
def write_txn_markers(
    broker: Broker, ctx: RequestContext, request: WriteTxnMarkersRequest
) -> Later:
    from barnabas.broker.markers import Marker, write_marker
    from barnabas.coordinator.runtime_types import Producer
    from barnabas.coordinator.txn.machine import TopicPartition

    gather = Gather(lambda codes: _response(request, codes))
    for asked in request.markers:
        marker = Marker(
            Producer(asked.producer_id, asked.producer_epoch),
            asked.transaction_result,
            asked.coordinator_epoch,
            transaction_version=0,  # this version of the request does not tell
        )
        for topic in asked.topics:
            for index in topic.partition_indexes:
                where = TopicPartition(topic.name, index)
                write_marker(broker, where, marker, gather.expect())
    return gather.asked_all()


def _response(request: WriteTxnMarkersRequest, codes: list[Any]) -> WriteTxnMarkersResponse:
    """The codes in the order in which the partitions stand in the request."""
    following = iter(codes)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index, error_code=next(following)
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )

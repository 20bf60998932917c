"""Fetch, at a controller: brokers follow the metadata log (KIP-595).

Only the log of cluster metadata can be fetched.  At its end the answer waits for the next commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.controller.embedded_journal import TOPIC_ID
from barnabas.controller.metadata_log import Batches, Diverging
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart

METADATA_TOPIC = "__cluster_metadata"


@handles(ApiKey.FETCH, versions=(12, 17), on=CONTROLLER)
def fetch(
    part: ControllerPart, ctx: RequestContext, request: FetchRequest
) -> FetchResponse | Later:
    if request.cluster_id is not None and request.cluster_id != part.cluster_id:
        return FetchResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
    topic = _metadata_topic(request)
    if topic is None:
        return FetchResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    data = _read(part, request, topic.partitions[0])
    active = part.active
    has_news = bool(
        data.error_code
        or data.records
        or data.snapshot_id.end_offset >= 0
        or data.diverging_epoch.end_offset >= 0
    )
    if has_news or active is None or active.feed is None or request.max_wait_ms <= 0:
        return _response(topic, data)
    return active.feed.park(
        lambda: _response(topic, _read(part, request, topic.partitions[0])),
        wait_s=request.max_wait_ms / 1000,
    )


def _metadata_topic(request: FetchRequest) -> FetchTopic | None:
    """The one topic that there is here, if it is asked for and nothing else."""
    if len(request.topics) != 1:
        return None
    topic = request.topics[0]
    if topic.topic_id != TOPIC_ID and topic.topic != METADATA_TOPIC:
        return None
    if len(topic.partitions) != 1 or topic.partitions[0].partition != 0:
        return None
    return topic


def _read(part: ControllerPart, request: FetchRequest, asked: FetchPartition) -> PartitionData:
    feed = part.active.feed if part.active is not None else None
    if feed is None:
        return PartitionData(error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER), high_watermark=-1)
    reader_id = max(request.replica_id, request.replica_state.replica_id)
    found = feed.read(
        reader_id, asked.fetch_offset, asked.last_fetched_epoch, max_bytes=request.max_bytes
    )
    data = PartitionData(
        high_watermark=feed.log.end_offset,
        log_start_offset=feed.log.start_offset,
        current_leader=LeaderIdAndEpoch(leader_id=feed.node_id, leader_epoch=feed.epoch),
    )
    if isinstance(found, Batches):
        data.records = found.data
    elif isinstance(found, Diverging):
        data.diverging_epoch = EpochEndOffset(epoch=found.epoch, end_offset=found.end_offset)
    else:
        data.snapshot_id = SnapshotId(end_offset=found.end_offset, epoch=found.epoch)
    return data


def _response(topic: FetchTopic, data: PartitionData) -> FetchResponse:
    return FetchResponse(
        responses=[
            FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[data])
        ]
    )

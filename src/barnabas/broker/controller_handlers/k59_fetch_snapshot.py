"""FetchSnapshot (KIP-630): pieces of a snapshot of the metadata, for who is too far behind.

Its bytes are made when the first reader needs them; the answer waits for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_handlers.k01_fetch import METADATA_TOPIC
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.controller.metadata_log import SnapshotId
from barnabas.protocol.apis import CONTROLLER, ApiKey
from barnabas.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LeaderIdAndEpoch,
    RequestPartitionSnapshot,
    ResponsePartitionSnapshot,
    ResponseTopicSnapshot,
)

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart
    from barnabas.broker.metadata_feed import MetadataFeed


@handles(ApiKey.FETCH_SNAPSHOT, versions=(0, 1), on=CONTROLLER)
def fetch_snapshot(
    part: ControllerPart, ctx: RequestContext, request: FetchSnapshotRequest
) -> FetchSnapshotResponse | Later:
    if request.cluster_id is not None and request.cluster_id != part.cluster_id:
        return FetchSnapshotResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
    feed = _feed(part)
    if feed is None:
        return _answer(part, request)
    later = Later()
    feed.when_encoded(lambda: later.resolve(_answer(part, request)))
    return later


def _feed(part: ControllerPart) -> MetadataFeed | None:
    return part.active.feed if part.active is not None else None


def _answer(part: ControllerPart, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(
        topics=[
            ResponseTopicSnapshot(
                name=topic.name,
                partitions=[
                    _piece(part, topic.name, asked, request.max_bytes) for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _piece(
    part: ControllerPart, topic: str, asked: RequestPartitionSnapshot, max_bytes: int
) -> ResponsePartitionSnapshot:
    answer = ResponsePartitionSnapshot(index=asked.partition, snapshot_id=asked.snapshot_id)
    feed = _feed(part)
    if topic != METADATA_TOPIC or asked.partition != 0:
        answer.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return answer
    if feed is None:
        answer.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return answer
    answer.current_leader = LeaderIdAndEpoch(leader_id=feed.node_id, leader_epoch=feed.epoch)
    data = feed.snapshot(SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch))
    if data is None:
        answer.error_code = int(ErrorCode.SNAPSHOT_NOT_FOUND)
    elif not 0 <= asked.position < len(data):
        answer.error_code = int(ErrorCode.POSITION_OUT_OF_RANGE)
    else:
        answer.size, answer.position = len(data), asked.position
        answer.unaligned_records = data[asked.position : asked.position + max(1, max_bytes)]
    return answer

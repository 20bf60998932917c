"""OffsetForLeaderEpoch: where an epoch ended in the leader's log (KIP-101, KIP-320).

A reader that has records of that epoch beyond the answer has read what was never committed, and
goes back.  v2: the leader epoch that the reader believes in.  v3: replica id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.shared import failure
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4))
def offset_for_leader_epoch(
    broker: Broker, ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end(broker, topic.topic, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end(broker: Broker, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wanted.partition)
    try:
        partition = broker.replicas.get(topic, wanted.partition)
        log = partition.leader_log(wanted.current_leader_epoch)
        answer.leader_epoch, answer.end_offset = log.end_of_epoch(wanted.leader_epoch)
    except Exception as error:
        answer.error_code = int(failure(error, f"OffsetForLeaderEpoch of {topic}"))
    return answer

"""OffsetFetch: where groups have got to.

v2: null topics mean all.  v7: `require_stable` (KIP-447).  v8: several groups (KIP-709).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

SEVERAL_SINCE = 8
WHOLE_ERROR_SINCE = 2


@handles(ApiKey.OFFSET_FETCH, versions=(1, 9))
def offset_fetch(broker: Broker, ctx: RequestContext, request: OffsetFetchRequest) -> Later:
    from barnabas.coordinator.group.events import FetchOffsets

    version = ctx.api_version
    groups = request.groups if version >= SEVERAL_SINCE else [_only_group(request)]
    gather = Gather(
        lambda found: (
            OffsetFetchResponse(groups=found)
            if version >= SEVERAL_SINCE
            else _for_one(found[0], request, version)
        )
    )
    for group in groups:
        event = FetchOffsets(group=group, require_stable=request.require_stable)
        broker.groups.schedule(group.group_id, event, gather.expect())
    return gather.asked_all()


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = request.topics
    return OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes)
            for t in topics
        ],
    )


def _for_one(
    found: OffsetFetchResponseGroup, request: OffsetFetchRequest, version: int
) -> OffsetFetchResponse:
    """As versions below 8 say it; version 1 has the error of the whole in each partition."""
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=part.partition_index,
                    committed_offset=part.committed_offset,
                    committed_leader_epoch=part.committed_leader_epoch,
                    metadata=part.metadata,
                    error_code=part.error_code,
                )
                for part in topic.partitions
            ],
        )
        for topic in found.topics
    ]
    if found.error_code and version < WHOLE_ERROR_SINCE:
        topics = [
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=-1, error_code=found.error_code
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    return OffsetFetchResponse(topics=topics, error_code=found.error_code)

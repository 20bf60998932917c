"""OffsetDelete: forget a group's offsets of some partitions (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import add_refused, call, take_unknown
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.OFFSET_DELETE, versions=(0, 0))
def offset_delete(broker: Broker, ctx: RequestContext, request: OffsetDeleteRequest) -> Later:
    code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refused = [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(partition_index=p.partition_index, error_code=code)
                for p in topic.partitions
            ],
        )
        for topic in take_unknown(broker, request)
    ]
    later = Later()

    def answered(response: OffsetDeleteResponse) -> None:
        if not response.error_code:
            add_refused(response, refused)
        later.resolve(response)

    broker.groups.handle(call(ctx, request), answered)
    return later

"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather, by_partition, call
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1))
def consumer_group_describe(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> Later:
    gather = Gather(
        lambda found: ConsumerGroupDescribeResponse(
            groups=[group for response in found for group in response.groups]
        )
    )
    for index, names in by_partition(broker, request.group_ids).items():
        part = ConsumerGroupDescribeRequest(
            group_ids=names, include_authorized_operations=request.include_authorized_operations
        )
        broker.groups.schedule_at(index, call(ctx, part), gather.expect())
    return gather.asked_all()

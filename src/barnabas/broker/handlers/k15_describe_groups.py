"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather, by_partition, call
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.DESCRIBE_GROUPS, versions=(0, 6))
def describe_groups(broker: Broker, ctx: RequestContext, request: DescribeGroupsRequest) -> Later:
    gather = Gather(
        lambda found: DescribeGroupsResponse(
            groups=[group for response in found for group in response.groups]
        )
    )
    for index, names in by_partition(broker, request.groups).items():
        part = DescribeGroupsRequest(
            groups=names, include_authorized_operations=request.include_authorized_operations
        )
        broker.groups.schedule_at(index, call(ctx, part), gather.expect())
    return gather.asked_all()

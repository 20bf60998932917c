"""ListGroups: the groups that this broker coordinates; clients ask every broker.

v4: filter by state (KIP-518).  v5: filter by type (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather, call
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.LIST_GROUPS, versions=(0, 5))
def list_groups(broker: Broker, ctx: RequestContext, request: ListGroupsRequest) -> Later:
    gather = Gather(_together)
    for index in broker.groups.led_partitions():
        broker.groups.schedule_at(index, call(ctx, request), gather.expect())
    return gather.asked_all()


def _together(found: list[Any]) -> ListGroupsResponse:
    """All groups; an error of any shard (it is being loaded) is told instead."""
    for response in found:
        if response.error_code:
            return ListGroupsResponse(error_code=response.error_code)
    return ListGroupsResponse(groups=[group for response in found for group in response.groups])

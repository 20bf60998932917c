"""DeleteGroups: forget groups that have no members, with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather, by_partition, call
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.DELETE_GROUPS, versions=(0, 2))
def delete_groups(broker: Broker, ctx: RequestContext, request: DeleteGroupsRequest) -> Later:
    gather = Gather(
        lambda found: DeleteGroupsResponse(
            results=[group for response in found for group in response.results]
        )
    )
    for index, names in by_partition(broker, request.groups_names).items():
        part = DeleteGroupsRequest(groups_names=names)
        broker.groups.schedule_at(index, call(ctx, part), gather.expect())
    return gather.asked_all()

"""DeleteGroups: forget groups that have no members, with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest


@handles(ApiKey.DELETE_GROUPS, versions=(0, 2))
def delete_groups(
    broker: Broker, ctx: RequestContext, request: DeleteGroupsRequest
) -> Message | Later:
    return ask_groups(broker, ctx, request)

"""LeaveGroup: members go, by themselves or removed by an administrator (v3: several at once)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.leave_group import LeaveGroupRequest


@handles(ApiKey.LEAVE_GROUP, versions=(0, 5))
def leave_group(broker: Broker, ctx: RequestContext, request: LeaveGroupRequest) -> Message | Later:
    return ask_groups(broker, ctx, request)

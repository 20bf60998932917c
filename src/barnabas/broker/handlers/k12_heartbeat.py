"""Heartbeat: a member of a classic group says that it lives, and learns of rebalances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.heartbeat import HeartbeatRequest


@handles(ApiKey.HEARTBEAT, versions=(0, 4))
def heartbeat(broker: Broker, ctx: RequestContext, request: HeartbeatRequest) -> Message | Later:
    return ask_groups(broker, ctx, request)

"""SyncGroup: the leader of a classic group hands out the assignment, the others wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.sync_group import SyncGroupRequest


@handles(ApiKey.SYNC_GROUP, versions=(0, 5))
def sync_group(broker: Broker, ctx: RequestContext, request: SyncGroupRequest) -> Message | Later:
    return ask_groups(broker, ctx, request)

"""JoinGroup: a member of a classic group takes part in a rebalance.

Waits until the group has formed: every member has come back, or has run out of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.join_group import JoinGroupRequest


@handles(ApiKey.JOIN_GROUP, versions=(0, 9))
def join_group(broker: Broker, ctx: RequestContext, request: JoinGroupRequest) -> Message | Later:
    return ask_groups(broker, ctx, request)

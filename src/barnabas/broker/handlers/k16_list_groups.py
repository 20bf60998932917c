"""ListGroups: the groups that this broker coordinates; clients ask every broker.

v4: filter by state (KIP-518).  v5: filter by type (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.list_groups import ListGroupsRequest


@handles(ApiKey.LIST_GROUPS, versions=(0, 5))
def list_groups(broker: Broker, ctx: RequestContext, request: ListGroupsRequest) -> Message | Later:
    return ask_groups(broker, ctx, request)

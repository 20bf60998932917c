"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest


@handles(ApiKey.DESCRIBE_GROUPS, versions=(0, 6))
def describe_groups(
    broker: Broker, ctx: RequestContext, request: DescribeGroupsRequest
) -> Message | Later:
    return ask_groups(broker, ctx, request)

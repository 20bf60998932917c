"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest


@handles(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1))
def consumer_group_describe(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> Message | Later:
    return ask_groups(broker, ctx, request)

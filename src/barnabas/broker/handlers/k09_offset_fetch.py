"""OffsetFetch: where groups have got to.

v2: null topics mean all.  v7: `require_stable` (KIP-447).  v8: several groups (KIP-709).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest


@handles(ApiKey.OFFSET_FETCH, versions=(1, 9))
def offset_fetch(
    broker: Broker, ctx: RequestContext, request: OffsetFetchRequest
) -> Message | Later:
    return ask_groups(broker, ctx, request)

"""UnregisterBroker (KIP-631): forget a broker that is not coming back; the controller decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.UNREGISTER_BROKER, versions=(0, 0))
def unregister_broker(
    broker: Broker, ctx: RequestContext, request: UnregisterBrokerRequest
) -> Message | Later:
    return forward(broker, request)

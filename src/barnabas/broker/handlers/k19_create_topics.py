"""CreateTopics: decided by the controller.

v5: the answer tells the topic's settings (KIP-525).  v7: and its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_topics import CreateTopicsRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.CREATE_TOPICS, versions=(2, 7))
def create_topics(
    broker: Broker, ctx: RequestContext, request: CreateTopicsRequest
) -> Message | Later:
    return forward(broker, request, timeout_ms=request.timeout_ms)

"""CreatePartitions: decided by the controller.  A topic only ever grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.CREATE_PARTITIONS, versions=(0, 3))
def create_partitions(
    broker: Broker, ctx: RequestContext, request: CreatePartitionsRequest
) -> Message | Later:
    return forward(broker, request, timeout_ms=request.timeout_ms)

"""CreatePartitions: decided by the controller.  A topic only ever grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.CREATE_PARTITIONS, versions=(0, 3))
def create_partitions(
    broker: Broker, ctx: RequestContext, request: CreatePartitionsRequest
) -> Message | Later:
    def timed_out() -> CreatePartitionsResponse:
        return CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(name=name, error_code=int(ErrorCode.REQUEST_TIMED_OUT))
                for name in dict.fromkeys(topic.name for topic in request.topics)
            ]
        )

    return forward(broker, request, timeout_ms=request.timeout_ms, timed_out=timed_out)

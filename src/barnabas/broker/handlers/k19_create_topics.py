"""CreateTopics: decided by the controller.

v5: the answer tells the topic's settings (KIP-525).  v7: and its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.CREATE_TOPICS, versions=(2, 7))
def create_topics(
    broker: Broker, ctx: RequestContext, request: CreateTopicsRequest
) -> Message | Later:
    def timed_out() -> CreateTopicsResponse:
        names = dict.fromkeys(topic.name for topic in request.topics)
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(
                    name=name, error_code=int(ErrorCode.REQUEST_TIMED_OUT), error_message=None
                )
                for name in names
            ]
        )

    return forward(broker, request, timeout_ms=request.timeout_ms, timed_out=timed_out)

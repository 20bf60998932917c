"""DeleteTopics: decided by the controller, which also knows whether `delete.topic.enable` is on.

v3: TOPIC_DELETION_DISABLED (before, INVALID_REQUEST says so).  v5: error messages.  v6: topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

DISABLED_CODE_SINCE = 3


@handles(ApiKey.DELETE_TOPICS, versions=(1, 6))
def delete_topics(
    broker: Broker, ctx: RequestContext, request: DeleteTopicsRequest
) -> Message | Later:
    if request.topic_names:
        # As the newest version says it: the controller may be elsewhere, and is told in that one.
        request.topics = [DeleteTopicState(name=name) for name in request.topic_names]
        request.topic_names = []
    return forward(
        broker,
        request,
        timeout_ms=request.timeout_ms,
        finish=_older if ctx.api_version < DISABLED_CODE_SINCE else None,
    )


def _older(response: Message) -> Message:
    """In words that old clients understand."""
    assert isinstance(response, DeleteTopicsResponse)
    for topic in response.responses:
        if topic.error_code == ErrorCode.TOPIC_DELETION_DISABLED:
            topic.error_code = int(ErrorCode.INVALID_REQUEST)
    return response

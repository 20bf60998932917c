"""DeleteTopics: decided by the controller, unless `delete.topic.enable` is off.

v3: TOPIC_DELETION_DISABLED (before, INVALID_REQUEST says so).  v5: error messages.  v6: topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.forward import forward
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message

DISABLED_CODE_SINCE = 3
TOPIC_IDS_SINCE = 6


@handles(ApiKey.DELETE_TOPICS, versions=(1, 6))
def delete_topics(
    broker: Broker, ctx: RequestContext, request: DeleteTopicsRequest
) -> Message | Later:
    topics = request.topics
    if ctx.api_version < TOPIC_IDS_SINCE:
        topics = [DeleteTopicState(name=name) for name in request.topic_names]
    if not broker.config.bool("delete.topic.enable"):
        known = ctx.api_version >= DISABLED_CODE_SINCE
        code = ErrorCode.TOPIC_DELETION_DISABLED if known else ErrorCode.INVALID_REQUEST
        return _refused(topics, code, "Topic deletion is disabled.")
    return forward(
        broker,
        request,
        timeout_ms=request.timeout_ms,
        timed_out=lambda: _refused(topics, ErrorCode.REQUEST_TIMED_OUT, None),
    )


def _refused(
    topics: list[DeleteTopicState], code: ErrorCode, message: str | None
) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=int(code),
                error_message=message,
            )
            for topic in topics
        ]
    )

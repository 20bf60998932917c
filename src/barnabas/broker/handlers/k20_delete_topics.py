"""DeleteTopics: decided by the controller, which also knows whether `delete.topic.enable` is on.

v3: TOPIC_DELETION_DISABLED (before, INVALID_REQUEST says so).  v5: error messages.  v6: topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.mutations import Mutation, forward_limited
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


def _deleted(broker: Broker, asked: DeleteTopicState) -> int:
    by_name = broker.image.topics.get(asked.name) if asked.name is not None else None
    topic = by_name or broker.image.topics_by_id.get(asked.topic_id)
    return len(topic.partitions) if topic is not None else 0


MUTATION = Mutation(
    strict_since=5,
    partitions=_deleted,
    result=lambda topic: DeletableTopicResult(name=topic.name, topic_id=topic.topic_id),
    response=DeleteTopicsResponse,
    results=lambda response: response.responses,
)


@handles(ApiKey.DELETE_TOPICS, versions=(1, 6))
def delete_topics(
    broker: Broker, ctx: RequestContext, request: DeleteTopicsRequest
) -> Message | Later:
    if request.topic_names:
        # As the newest version says it: the controller may be elsewhere, and is told in that one.
        request.topics = [DeleteTopicState(name=name) for name in request.topic_names]
        request.topic_names = []
    finish = _older if ctx.api_version < DISABLED_CODE_SINCE else None
    return forward_limited(broker, ctx, request, MUTATION, finish)


def _older(response: Message) -> Message:
    """In words that old clients understand."""
    assert isinstance(response, DeleteTopicsResponse)
    for topic in response.responses:
        if topic.error_code == ErrorCode.TOPIC_DELETION_DISABLED:
            topic.error_code = int(ErrorCode.INVALID_REQUEST)
    return response

"""CreateTopics: decided by the controller.

v5: the answer tells the topic's settings (KIP-525).  v7: and its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.mutations import Mutation, forward_limited
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


def partitions_of(broker: Broker, topic: CreatableTopic) -> int:
    """How many it gets, if it can be made."""
    if topic.assignments:
        return len(topic.assignments)
    asked = topic.num_partitions
    return broker.config.int("num.partitions") if asked == -1 else max(0, asked)


MUTATION = Mutation(
    strict_since=6,
    partitions=partitions_of,
    result=lambda topic: CreatableTopicResult(name=topic.name),
    response=CreateTopicsResponse,
    results=lambda response: response.topics,
)


@handles(ApiKey.CREATE_TOPICS, versions=(2, 7))
def create_topics(
    broker: Broker, ctx: RequestContext, request: CreateTopicsRequest
) -> Message | Later:
    return forward_limited(broker, ctx, request, MUTATION)

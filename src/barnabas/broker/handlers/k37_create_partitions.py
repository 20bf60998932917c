"""CreatePartitions: decided by the controller.  A topic only ever grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.mutations import Mutation, forward_limited
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


def _added(broker: Broker, asked: CreatePartitionsTopic) -> int:
    topic = broker.image.topics.get(asked.name)
    return max(0, asked.count - len(topic.partitions)) if topic is not None else 0


MUTATION = Mutation(
    strict_since=3,
    partitions=_added,
    result=lambda topic: CreatePartitionsTopicResult(name=topic.name),
    response=CreatePartitionsResponse,
    results=lambda response: response.results,
)


@handles(ApiKey.CREATE_PARTITIONS, versions=(0, 3))
def create_partitions(
    broker: Broker, ctx: RequestContext, request: CreatePartitionsRequest
) -> Message | Later:
    return forward_limited(broker, ctx, request, MUTATION)

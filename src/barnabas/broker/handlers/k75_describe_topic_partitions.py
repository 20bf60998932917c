"""DescribeTopicPartitions (KIP-966): partitions of topics, page by page.

Topics come in the order of their names.  A page has at most the smaller of what the client and
`max.request.partition.size.limit` allow; the cursor says where the next one begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.cluster_view import leader_of, offline_replicas
from barnabas.broker.handlers.shared import INTERNAL_TOPICS, TOPIC_OPERATIONS, missing_topic
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ClusterImage
    from barnabas.controller.image_types import TopicImage


@handles(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0))
def describe_topic_partitions(
    broker: Broker, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    image = broker.image
    cursor = request.cursor
    names = {topic.name for topic in request.topics} or image.topics.keys()
    if cursor is not None:
        if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
            return _invalid(request)
        names = {name for name in names if name >= cursor.topic_name}
    limit = broker.config.int("max.request.partition.size.limit")
    left = max(1, min(limit, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in sorted(names):
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_missing(name))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        end = min(first + left, len(topic.partitions))
        response.topics.append(_page(image, topic, range(first, end), ctx.listener.name))
        left -= max(0, end - first)
        if end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
    return response


def _page(
    image: ClusterImage, topic: TopicImage, indexes: range, listener: str
) -> DescribeTopicPartitionsResponseTopic:
    partitions = []
    for index in indexes:
        state = topic.partitions[index]
        error, leader = leader_of(image, state, listener)
        partitions.append(
            DescribeTopicPartitionsResponsePartition(
                error_code=int(error),
                partition_index=index,
                leader_id=leader,
                leader_epoch=state.leader_epoch,
                replica_nodes=list(state.replicas),
                isr_nodes=list(state.isr),
                eligible_leader_replicas=list(state.elr),
                last_known_elr=list(state.last_known_elr),
                offline_replicas=offline_replicas(image, state, listener),
            )
        )
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=int(missing_topic(name)),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _invalid(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(
                error_code=int(ErrorCode.INVALID_REQUEST), name=topic.name
            )
            for topic in request.topics
        ]
    )

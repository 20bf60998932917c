"""DescribeProducers (KIP-664): the idempotent and transactional producers known to a partition.

Of any replica: who looks for hanging transactions asks each broker for all that it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.shared import explained
from barnabas.controller.decider.names import check_name
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0))
def describe_producers(
    broker: Broker, ctx: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _describe(broker, topic.name, index) for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _describe(broker: Broker, topic: str, index: int) -> PartitionResponse:
    answer = PartitionResponse(partition_index=index)
    try:
        check_name(topic)
        log = broker.replicas.get(topic, index).any_log()
        answer.active_producers = [
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_start,
            )
            for entry in log.active_producers()
        ]
    except Exception as error:
        code, answer.error_message = explained(error, f"DescribeProducers of {topic}")
        answer.error_code = int(code)
    return answer

"""AddPartitionsToTxn: partitions join a transaction, before records are sent to them.

v0-3: a client, for its own transaction.  v4: brokers, for several transactions at once, also to
verify only (KIP-890).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import Gather
from barnabas.broker.handlers.shared import INTERNAL_TOPICS, missing_topic
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.coordinator.txn.machine import TopicPartition

BROKERS_SINCE = 4


@handles(ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5))
def add_partitions_to_txn(
    broker: Broker, ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> Later:
    from barnabas.coordinator.txn.api import events_of, refused_partitions, response_of

    events = events_of(request, ctx.api_version)
    check = partial(_problem, broker, ctx.api_version)
    gather = Gather(
        lambda replies: response_of(list(zip(events, replies, strict=True)), ctx.api_version)
    )
    for event in events:
        refused = refused_partitions(event, check)
        if refused is None:
            broker.transactions.schedule(event.transactional_id, event, gather.expect())
        else:
            gather.expect()(refused)
    return gather.asked_all()


def _problem(broker: Broker, version: int, where: TopicPartition) -> ErrorCode:
    if version < BROKERS_SINCE and where.topic in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED  # clients have AddOffsetsToTxn for that
    if broker.image.partition(*where) is not None:
        return ErrorCode.NONE
    return missing_topic(where.topic)

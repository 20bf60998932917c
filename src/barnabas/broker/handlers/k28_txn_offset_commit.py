"""TxnOffsetCommit: positions of a group that count when the producer's transaction commits.

Before the first of a transaction the transaction coordinator is asked, as for a batch of records:
`__consumer_offsets` is a partition like others.

v2: leader epochs.  v3: flexible, membership (KIP-447).  v4: TRANSACTION_ABORTABLE.  v5: the broker
adds the partition to the transaction (KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, ErrorCode, UnknownTopicOrPartition, error_for
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import add_refused, call, take_unknown
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.coordinator.txn.events import PartitionErrors

NO_SEQUENCE = -1


@handles(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5))
def txn_offset_commit(
    broker: Broker, ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Later:
    from barnabas.coordinator.group.refusals import refuse

    unknown = TxnOffsetCommitRequest(topics=take_unknown(broker, request))
    refused: TxnOffsetCommitResponse = refuse(unknown, UnknownTopicOrPartition(), ctx.api_version)
    if unknown.topics and not request.topics:
        return refused
    later = Later()

    def answered(response: TxnOffsetCommitResponse) -> None:
        add_refused(response, refused.topics)
        later.resolve(response)

    try:
        _commit(broker, ctx, request, answered)
    except ApiError as error:
        answered(refuse(request, error, ctx.api_version))
    return later


def _commit(
    broker: Broker,
    ctx: RequestContext,
    request: TxnOffsetCommitRequest,
    answered: Callable[[TxnOffsetCommitResponse], None],
) -> None:
    from barnabas.coordinator.group.refusals import refuse
    from barnabas.coordinator.runtime_types import Producer
    from barnabas.coordinator.txn.machine import TopicPartition
    from barnabas.coordinator.txn.verification import (
        UNGUARDED,
        operation_of_offset_commit,
        told_to_client,
    )

    verifying = broker.transactions.verifying
    operation = operation_of_offset_commit(ctx.api_version)
    where = TopicPartition(broker.groups.topic, broker.groups.partition_of(request.group_id))
    producer = Producer(request.producer_id, request.producer_epoch)
    partition = broker.replicas.get(*where)
    guard = verifying.begin(where, partition.leader_log(), producer, NO_SEQUENCE, operation)

    def verified(errors: PartitionErrors) -> None:
        try:
            code = errors.get(where) or verifying.may_append(
                where, partition.leader_log(), producer, NO_SEQUENCE, guard
            )
            if code:
                raise error_for(told_to_client(code, operation))
        except ApiError as error:
            answered(refuse(request, error, ctx.api_version))
            return
        broker.groups.schedule_at(where.partition, call(ctx, request), answered)
        verifying.settled(where, producer.producer_id)

    if guard == UNGUARDED:
        verified({where: ErrorCode.NONE})
    else:
        verifying.ask(request.transactional_id, producer, frozenset((where,)), operation, verified)

"""AddPartitionsToTxn between its messages and the events of shards.  Pure.

A client (v0-3) adds partitions to its own transaction.  A partition leader (v4 and later) adds or
verifies on behalf of its clients, for several transactions at once, which may belong to several
shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn.events import FENCED_SINCE, AddPartitions, PartitionErrors, told_code
from barnabas.coordinator.txn.machine import EPOCH_BUMPS, TopicPartition
from barnabas.coordinator.txn.records import grouped
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

BATCHED_SINCE: Final = 4


def events_of(request: AddPartitionsToTxnRequest, version: int) -> list[AddPartitions]:
    """One event for each transaction of the request."""
    if version < BATCHED_SINCE:
        return [
            AddPartitions(
                transactional_id=request.v3_and_below_transactional_id,
                producer_id=request.v3_and_below_producer_id,
                producer_epoch=request.v3_and_below_producer_epoch,
                partitions=_partitions(request.v3_and_below_topics),
                client_version=0,
            )
        ]
    return [
        AddPartitions(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            partitions=_partitions(transaction.topics),
            client_version=EPOCH_BUMPS,
            verify_only=transaction.verify_only,
        )
        for transaction in request.transactions
    ]


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions
    )


def refused_partitions(
    event: AddPartitions, check: Callable[[TopicPartition], ErrorCode]
) -> PartitionErrors | None:
    """What to answer if `check` finds fault with any of the partitions: then none is added."""
    found = {partition: check(partition) for partition in event.partitions}
    if not any(found.values()):
        return None
    return {
        partition: code or ErrorCode.OPERATION_NOT_ATTEMPTED for partition, code in found.items()
    }


def response_of(
    results: Sequence[tuple[AddPartitions, PartitionErrors]], version: int
) -> AddPartitionsToTxnResponse:
    """The answer to a request, from the replies to its events."""
    if version < BATCHED_SINCE:
        (_, errors), *others = results
        assert not others, "a client has one transaction"
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topics(errors, version))
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=event.transactional_id, topic_results=_topics(errors, version)
            )
            for event, errors in results
        ]
    )


def _topics(errors: PartitionErrors, version: int) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.topic,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=partition,
                    partition_error_code=told_code(
                        errors[TopicPartition(topic.topic, partition)], version, FENCED_SINCE
                    ),
                )
                for partition in topic.partition_ids
            ],
        )
        for topic in grouped(errors)
    ]


def request_of(events: Iterable[AddPartitions]) -> AddPartitionsToTxnRequest:
    """What a leader asks the coordinator of these transactions."""
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=event.transactional_id,
                producer_id=event.producer_id,
                producer_epoch=event.producer_epoch,
                verify_only=event.verify_only,
                topics=[
                    AddPartitionsToTxnTopic(name=topic.topic, partitions=topic.partition_ids)
                    for topic in grouped(event.partitions)
                ],
            )
            for event in events
        ]
    )


def errors_of(
    response: AddPartitionsToTxnResponse, events: Iterable[AddPartitions]
) -> dict[str, PartitionErrors]:
    """By transactional id, what the coordinator answered to `request_of(events)`.

    Partitions that it passed over were not found to be in order.
    """
    if response.error_code:
        overall = _code(response.error_code)
        if overall is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:  # a matter between brokers
            overall = ErrorCode.INVALID_TXN_STATE
        return {
            event.transactional_id: dict.fromkeys(event.partitions, overall) for event in events
        }
    answered: dict[str, dict[TopicPartition, ErrorCode]] = {}
    for result in response.results_by_transaction:
        errors = answered.setdefault(result.transactional_id, {})
        for topic in result.topic_results:
            for partition in topic.results_by_partition:
                where = TopicPartition(topic.name, partition.partition_index)
                errors[where] = _code(partition.partition_error_code)
    return {
        event.transactional_id: {
            partition: answered.get(event.transactional_id, {}).get(
                partition, ErrorCode.INVALID_TXN_STATE
            )
            for partition in event.partitions
        }
        for event in events
    }


def _code(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR

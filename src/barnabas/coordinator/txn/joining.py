"""Which partitions take part in a transaction.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ConcurrentTransactions,
    ErrorCode,
    InvalidProducerIdMapping,
    ProducerFenced,
)
from barnabas.coordinator.txn.machine import TopicPartition, Transaction, TransactionState

if TYPE_CHECKING:
    from barnabas.coordinator.runtime_types import Producer


def join(
    transaction: Transaction,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    *,
    client_version: int,
    now_ms: int,
) -> Transaction | None:
    """With the partitions in it; None if they are in it already."""
    if transaction.state.is_prepared:  # first of all: the producer id may be the next one
        raise ConcurrentTransactions
    _check(transaction, producer)
    is_open = transaction.state is TransactionState.ONGOING
    if not partitions or (is_open and partitions <= transaction.partitions):
        return None
    return transaction.joined_by(partitions, client_version=client_version, now_ms=now_ms)


def verify(
    transaction: Transaction, producer: Producer, partitions: frozenset[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Whether each of the partitions is in the open transaction of `producer`."""
    _check(transaction, producer)
    if transaction.state.is_prepared:
        raise ConcurrentTransactions
    return {
        partition: (
            ErrorCode.NONE
            if partition in transaction.partitions
            else ErrorCode.TRANSACTION_ABORTABLE
        )
        for partition in partitions
    }


def _check(transaction: Transaction, producer: Producer) -> None:
    if producer.producer_id != transaction.producer_id:
        raise InvalidProducerIdMapping
    if producer.producer_epoch != transaction.producer_epoch:
        raise ProducerFenced

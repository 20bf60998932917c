"""Transactions as records of `__transaction_state`, in Kafka's format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from barnabas.coordinator.runtime_types import CoordinatorRecord
from barnabas.coordinator.txn.machine import (
    NO_PRODUCER_EPOCH,
    TopicPartition,
    Transaction,
    TransactionState,
)
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from barnabas.coordinator.runtime_codec import KeyTypes

KEY_VERSION: Final = 0
KEY_TYPES: Final[KeyTypes] = {KEY_VERSION: (TransactionLogKey, TransactionLogValue)}
FLEXIBLE: Final = 1
"""The transaction version from which on values are written in version 1 (tagged fields)."""

_WRITTEN: Final = {
    state.value: state
    for state in TransactionState
    if state not in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)
}


@dataclass(slots=True, kw_only=True)
class TransactionRecord(CoordinatorRecord):
    """A record, and what its writer remembers besides until it restarts."""

    last_producer_epoch: int = NO_PRODUCER_EPOCH


def record_of(transaction: Transaction, *, transaction_version: int) -> TransactionRecord:
    """`transaction_version` is the level that the whole cluster has agreed on."""
    is_flexible = transaction_version >= FLEXIBLE
    state = transaction.state
    assert state is not TransactionState.EMPTY or not transaction.partitions
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=state.value,
        transaction_partitions=(
            None if state is TransactionState.EMPTY else grouped(transaction.partitions)
        ),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if is_flexible:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return TransactionRecord(
        key=TransactionLogKey(transactional_id=transaction.transactional_id),
        key_version=KEY_VERSION,
        value=value,
        value_version=1 if is_flexible else 0,
        last_producer_epoch=transaction.last_producer_epoch,
    )


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """The id is forgotten."""
    return CoordinatorRecord(
        key=TransactionLogKey(transactional_id=transactional_id),
        key_version=KEY_VERSION,
        value=None,
    )


def transactional_id_of(record: CoordinatorRecord) -> str:
    assert isinstance(record.key, TransactionLogKey)
    return record.key.transactional_id


def transaction_of(record: CoordinatorRecord) -> Transaction:
    """What a record with a value says.  DecodeError if its state is none that is written."""
    value = record.value
    assert isinstance(value, TransactionLogValue)
    state = _WRITTEN.get(value.transaction_status)
    if state is None:
        raise DecodeError(f"a transaction in state {value.transaction_status}")
    last_epoch = NO_PRODUCER_EPOCH
    if isinstance(record, TransactionRecord):
        last_epoch = record.last_producer_epoch
    return Transaction(
        transactional_id=transactional_id_of(record),
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        updated_ms=value.transaction_last_update_timestamp_ms,
        started_ms=value.transaction_start_timestamp_ms,
        partitions=frozenset(
            TopicPartition(schema.topic, partition)
            for schema in value.transaction_partitions or ()
            for partition in schema.partition_ids
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
        last_producer_epoch=last_epoch,
    )


def grouped(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    """By topic, in order: equal sets give equal bytes."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]

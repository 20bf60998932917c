"""What `kafka-transactions` shows: rows made from transactions and producers, and their lines.
Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.cli.printing import table

if TYPE_CHECKING:
    from barnabas.client.brokers import Place
    from barnabas.client.transaction_admin import ProducerState, Transaction, TransactionListing

MS_PER_MINUTE = 60_000

LIST_HEADING = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBE_HEADING = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
PRODUCERS_HEADING = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
HANGING_HEADING = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that is open in a partition, whatever its coordinator thinks of it."""

    place: Place
    producer: ProducerState


def list_lines(listings: Iterable[TransactionListing]) -> list[str]:
    return table(
        LIST_HEADING,
        [
            (each.transactional_id, each.coordinator, each.producer_id, each.state)
            for each in listings
        ],
    )


def list_json(listings: Iterable[TransactionListing]) -> list[dict[str, Any]]:
    return [
        {
            "transactional_id": each.transactional_id,
            "coordinator": each.coordinator,
            "producer_id": each.producer_id,
            "state": each.state,
        }
        for each in listings
    ]


def describe_lines(transaction: Transaction, now_ms: int) -> list[str]:
    started = transaction.started_ms
    row = (
        transaction.coordinator,
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.state,
        transaction.timeout_ms,
        "None" if started is None else started,
        "None" if started is None else now_ms - started,
        ",".join(f"{topic}-{number}" for topic, number in transaction.places),
    )
    return table(DESCRIBE_HEADING, [row])


def describe_json(transaction: Transaction) -> dict[str, Any]:
    return {
        "transactional_id": transaction.transactional_id,
        "coordinator": transaction.coordinator,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "state": transaction.state,
        "timeout_ms": transaction.timeout_ms,
        "start_time_ms": transaction.started_ms,
        "partitions": [
            {"topic": topic, "partition": number} for topic, number in transaction.places
        ],
    }


def producers_lines(producers: Iterable[ProducerState]) -> list[str]:
    return table(
        PRODUCERS_HEADING,
        [
            (
                each.producer_id,
                each.producer_epoch,
                each.coordinator_epoch,
                each.last_sequence,
                each.last_ms,
                "None" if each.open_since is None else each.open_since,
            )
            for each in producers
        ],
    )


def producers_json(producers: Iterable[ProducerState]) -> list[dict[str, Any]]:
    return [
        {
            "producer_id": each.producer_id,
            "producer_epoch": each.producer_epoch,
            "coordinator_epoch": each.coordinator_epoch,
            "last_sequence": each.last_sequence,
            "last_timestamp": each.last_ms,
            "transaction_start_offset": each.open_since,
        }
        for each in producers
    ]


def long_open(
    producers: Mapping[Place, Iterable[ProducerState]], now_ms: int, limit_ms: int
) -> list[OpenTransaction]:
    """Open transactions of producers that have not been heard of for longer than the limit."""
    return [
        OpenTransaction(place=place, producer=producer)
        for place, states in sorted(producers.items())
        for producer in states
        if producer.open_since is not None and now_ms - producer.last_ms > limit_ms
    ]


def hanging(
    candidates: Iterable[OpenTransaction],
    ids: Mapping[int, str],
    transactions: Mapping[str, Transaction | None],
) -> list[OpenTransaction]:
    """Those that no coordinator is going to end.

    `ids` are the transactional ids of producers, `transactions` what their coordinators say.  A
    coordinator that still counts the partition among those of the transaction will end it.
    """
    return [
        each
        for each in candidates
        if each.place not in _cared_for(transactions.get(ids.get(each.producer.producer_id, "")))
    ]


def _cared_for(transaction: Transaction | None) -> Collection[Place]:
    return () if transaction is None else transaction.places


def hanging_lines(found: Iterable[OpenTransaction], now_ms: int) -> list[str]:
    return table(
        HANGING_HEADING,
        [
            (
                *each.place,
                each.producer.producer_id,
                each.producer.producer_epoch,
                each.producer.coordinator_epoch,
                each.producer.open_since,
                each.producer.last_ms,
                int((now_ms - each.producer.last_ms) / MS_PER_MINUTE),
            )
            for each in found
        ],
    )


def hanging_json(found: Iterable[OpenTransaction]) -> list[dict[str, Any]]:
    return [
        {
            "topic": topic,
            "partition": number,
            "producer_id": each.producer.producer_id,
            "producer_epoch": each.producer.producer_epoch,
            "coordinator_epoch": each.producer.coordinator_epoch,
            "start_offset": each.producer.open_since,
            "last_timestamp": each.producer.last_ms,
        }
        for each in found
        for topic, number in [each.place]
    ]

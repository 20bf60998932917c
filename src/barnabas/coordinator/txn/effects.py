"""What a transaction shard wants done once its records are committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.coordinator.txn.machine import TopicPartition, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMarkers:
    """End a transaction in all its partitions.

    To be tried until every partition has acknowledged (see `markers.MarkerDelivery`), however long
    that takes; then the shard gets a `MarkersWritten`.  Doing it twice does no harm.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    coordinator_epoch: int
    transaction_version: int
    """From 2 on the marker's epoch is above that of the records which it ends."""


def markers_of(transaction: Transaction, *, coordinator_epoch: int) -> WriteMarkers:
    """What a prepared transaction needs to become complete."""
    assert transaction.state.is_prepared
    return WriteMarkers(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        is_commit=transaction.is_commit,
        partitions=tuple(sorted(transaction.partitions)),
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction.client_version,
    )

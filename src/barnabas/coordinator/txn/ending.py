"""Ending a transaction: asked for by its producer, or because it must make way.  Pure.

Before transaction version 2 a producer keeps its epoch from one transaction to the next, so a
repeated EndTxn is told from the next one only by the state.  From version 2 on every end takes the
next epoch: a repeat has the epoch before, and a late one never fits a later transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)
from barnabas.coordinator.txn.machine import (
    EPOCH_BUMPS,
    MAX_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
)

if TYPE_CHECKING:
    from barnabas.coordinator.txn.settings import ProducerIdSource

_S = TransactionState


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A producer's wish to end its transaction."""

    producer_id: int
    producer_epoch: int
    commit: bool


def take_id(producer_ids: ProducerIdSource) -> int:
    producer_id = producer_ids.take()
    if producer_id is None:
        raise CoordinatorLoadInProgress("No producer ids are at hand yet.")
    return producer_id


def end_keeping_epoch(transaction: Transaction, end: End, *, now_ms: int) -> Transaction | None:
    """EndTxn v0-4: the next step, or None if it was taken already."""
    if end.producer_id != transaction.producer_id:
        raise InvalidProducerIdMapping
    if end.producer_epoch != transaction.producer_epoch:
        raise ProducerFenced
    state = transaction.state
    if state.is_prepared:
        raise ConcurrentTransactions
    if state is _S.ONGOING:
        return transaction.prepared(
            commit=end.commit,
            producer_epoch=transaction.producer_epoch,
            last_producer_epoch=transaction.last_producer_epoch,
            client_version=0,
            now_ms=now_ms,
        )
    if state.is_complete and transaction.is_commit == end.commit:
        return None
    raise _wrong_state(transaction, end)


def end_bumping_epoch(
    transaction: Transaction, end: End, *, producer_ids: ProducerIdSource, now_ms: int
) -> Transaction | None:
    """EndTxn v5 and later: the next step, or None if it was taken already."""
    state = transaction.state
    if state.is_prepared:  # first of all: the client may have been told of the next producer id
        raise ConcurrentTransactions
    is_repeat = _is_repeat(transaction, end)
    if end.producer_id != transaction.producer_id and not is_repeat:
        raise InvalidProducerIdMapping
    is_current = end.producer_epoch == transaction.producer_epoch
    if is_repeat and state.is_complete:
        if transaction.is_commit == end.commit:
            return None
        raise _wrong_state(transaction, end)
    if not is_current or end.producer_id != transaction.producer_id:
        raise ProducerFenced
    if state is not _S.ONGOING and end.commit:
        raise _wrong_state(transaction, end)
    return _bumped(transaction, commit=end.commit, producer_ids=producer_ids, now_ms=now_ms)


def _is_repeat(transaction: Transaction, end: End) -> bool:
    """Whether the end that `end` asks for is what gave the transaction its epoch, or its id."""
    if transaction.client_version < EPOCH_BUMPS:
        return False
    if end.producer_id == transaction.producer_id:
        return end.producer_epoch == transaction.producer_epoch - 1
    return (
        end.producer_id == transaction.previous_producer_id
        and end.producer_epoch == MAX_EPOCH - 1
        and transaction.producer_epoch == 0
    )


def fence(
    transaction: Transaction,
    *,
    transaction_version: int,
    producer_ids: ProducerIdSource,
    now_ms: int,
) -> Transaction:
    """Abort an open transaction against its producer, which must not write any more.

    In the steps of Kafka: to PREPARE_EPOCH_FENCE with the next epoch, and on to PREPARE_ABORT.
    """
    assert transaction.state is _S.ONGOING
    if transaction_version >= EPOCH_BUMPS:
        return _bumped(transaction, commit=False, producer_ids=producer_ids, now_ms=now_ms)
    return transaction.prepared(
        commit=False,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=NO_PRODUCER_EPOCH,
        client_version=0,
        now_ms=now_ms,
    )


def _bumped(
    transaction: Transaction, *, commit: bool, producer_ids: ProducerIdSource, now_ms: int
) -> Transaction:
    next_id = take_id(producer_ids) if transaction.is_exhausted else NO_PRODUCER_ID
    return transaction.prepared(
        commit=commit,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=transaction.producer_epoch,
        client_version=EPOCH_BUMPS,
        next_producer_id=next_id,
        now_ms=now_ms,
    )


def _wrong_state(transaction: Transaction, end: End) -> ApiError:
    wish = "committed" if end.commit else "aborted"
    return InvalidTxnState(f"The transaction is {transaction.state.label}: it cannot be {wish}.")

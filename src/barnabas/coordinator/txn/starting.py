"""InitProducerId with a transactional id: who is the producer from now on.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRequest, InvalidTransactionTimeout, ProducerFenced
from barnabas.coordinator.txn.ending import take_id
from barnabas.coordinator.txn.machine import (
    MAX_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)

if TYPE_CHECKING:
    from barnabas.coordinator.txn.settings import ProducerIdSource
    from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest


@dataclass(frozen=True, slots=True)
class Claim:
    """Who a producer says it is that goes on after an error (KIP-360).

    One that starts claims nothing, and fences its predecessors.
    """

    producer_id: int
    producer_epoch: int


def claim_of(request: InitProducerIdRequest) -> Claim | None:
    """Raises unless id and epoch are given both or neither."""
    if request.producer_id == NO_PRODUCER_ID and request.producer_epoch == NO_PRODUCER_EPOCH:
        return None
    if request.producer_id == NO_PRODUCER_ID or request.producer_epoch == NO_PRODUCER_EPOCH:
        raise InvalidRequest("A producer id and its epoch are given together or not at all.")
    return Claim(request.producer_id, request.producer_epoch)


def check_timeout(timeout_ms: int, max_timeout_ms: int) -> None:
    if not 0 < timeout_ms <= max_timeout_ms:
        raise InvalidTransactionTimeout(
            f"A transaction timeout of {timeout_ms} ms is not between 1 and {max_timeout_ms} ms."
        )


def check_claim(transaction: Transaction, claim: Claim | None) -> None:
    """Raise if another producer has taken over."""
    if claim is None:
        return
    is_own_id = claim.producer_id == transaction.producer_id
    if is_own_id and claim.producer_epoch == transaction.producer_epoch:
        return
    is_repeat = claim.producer_epoch == transaction.last_producer_epoch and (
        is_own_id
        or (
            claim.producer_id == transaction.previous_producer_id
            and claim.producer_epoch >= MAX_EPOCH - 1
        )
    )
    if not is_repeat:
        raise ProducerFenced


def renew(
    transaction: Transaction,
    claim: Claim | None,
    *,
    timeout_ms: int,
    producer_ids: ProducerIdSource,
    now_ms: int,
) -> Transaction:
    """The next epoch, or a new id if there is none; the present one if that was given already.

    The claim was checked.
    """
    assert transaction.state.is_idle
    current = transaction.producer_epoch
    if claim is None:
        new_epoch, last_epoch = current + 1, NO_PRODUCER_EPOCH
    elif claim.producer_epoch == current and claim.producer_id == transaction.producer_id:
        new_epoch, last_epoch = current + 1, current
    else:
        new_epoch, last_epoch = current, transaction.last_producer_epoch
    if new_epoch >= MAX_EPOCH:
        return transaction.rotated(
            producer_id=take_id(producer_ids),
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            now_ms=now_ms,
        )
    return transaction.renewed(
        producer_epoch=new_epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        now_ms=now_ms,
    )

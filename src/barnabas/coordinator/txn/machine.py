"""One transactional id: its states, and what each step makes of it.  Pure.

A `Transaction` is a value.  Steps return the next one; it becomes true when its record is written
and replayed.  Which steps there are is said once, in `TRANSITIONS`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
MAX_EPOCH: Final = 0x7FFF
"""Never given to a client: there is always one more epoch to fence the last one with."""
EPOCH_BUMPS: Final = 2
"""The transaction version from which on every commit and abort takes a new epoch (KIP-890)."""


class TopicPartition(NamedTuple):
    """A partition that takes part in a transaction."""

    topic: str
    partition: int


class TransactionState(enum.IntEnum):
    """Kafka's numbers, as in the records; `label` as in DescribeTransactions."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """The outcome is settled and the markers are on their way."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def is_idle(self) -> bool:
        """No transaction is open: the id may be renewed, and forgotten."""
        return self is TransactionState.EMPTY or self.is_complete


STATES_BY_LABEL: Final = {state.label: state for state in TransactionState}

_S = TransactionState
_NEXT_TRANSACTION: Final = {
    _S.EMPTY: "InitProducerId",
    _S.ONGOING: "partitions or offsets are added",
    _S.PREPARE_ABORT: "EndTxn abort, v5 (nothing was added)",
    _S.DEAD: "unused for too long",
}
TRANSITIONS: Final[dict[TransactionState, dict[TransactionState, str]]] = {
    _S.EMPTY: _NEXT_TRANSACTION,
    _S.ONGOING: {
        _S.ONGOING: "partitions or offsets are added",
        _S.PREPARE_COMMIT: "EndTxn commit",
        _S.PREPARE_ABORT: "EndTxn abort",
        _S.PREPARE_EPOCH_FENCE: "InitProducerId, or timed out",
    },
    _S.PREPARE_EPOCH_FENCE: {_S.PREPARE_ABORT: "in the same step, with the next epoch"},
    _S.PREPARE_COMMIT: {_S.COMPLETE_COMMIT: "all markers are written"},
    _S.PREPARE_ABORT: {_S.COMPLETE_ABORT: "all markers are written"},
    _S.COMPLETE_COMMIT: _NEXT_TRANSACTION,
    _S.COMPLETE_ABORT: _NEXT_TRANSACTION,
    _S.DEAD: {},
}
"""From, to, and why.  The diagram in docs/internals/transactions.md is drawn from this.

`PREPARE_EPOCH_FENCE` is passed through within one decision and is never written; `DEAD` is written
as a tombstone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """What is known of one transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    updated_ms: int
    started_ms: int = -1
    partitions: frozenset[TopicPartition] = frozenset()
    """To be given a marker.  Empty unless a transaction is open or being ended."""
    previous_producer_id: int = NO_PRODUCER_ID
    """Whose id it was before this step; another one than `producer_id` only after a rotation."""
    next_producer_id: int = NO_PRODUCER_ID
    """Already told to the client; takes over when the markers are written."""
    client_version: int = 0
    """The transaction version that the last step was made in."""
    last_producer_epoch: int = field(default=NO_PRODUCER_EPOCH, compare=False)
    """The epoch that this one was made from, if the same producer goes on: an InitProducerId with
    it is a retry.  Not in the log (as in Kafka 4.0): after a restart such a retry is fenced."""

    @property
    def is_exhausted(self) -> bool:
        """The client has the last epoch that it may have."""
        return self.producer_epoch >= MAX_EPOCH - 1

    @property
    def is_commit(self) -> bool:
        return self.state in (_S.PREPARE_COMMIT, _S.COMPLETE_COMMIT)

    @property
    def deadline_ms(self) -> int:
        """When an open transaction has taken too long."""
        return self.started_ms + self.timeout_ms + 1

    # Steps

    def renewed(
        self, *, producer_epoch: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        """The producer, or its successor, has come (again)."""
        return replace(
            self,
            state=_S.EMPTY,
            producer_epoch=producer_epoch,
            last_producer_epoch=last_producer_epoch,
            timeout_ms=timeout_ms,
            previous_producer_id=self.producer_id,
            partitions=frozenset(),
            started_ms=-1,
            updated_ms=now_ms,
        )

    def rotated(
        self, *, producer_id: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        """Out of epochs: the same transactional id goes on with a new producer id."""
        renewed = self.renewed(
            producer_epoch=0,
            last_producer_epoch=last_producer_epoch,
            timeout_ms=timeout_ms,
            now_ms=now_ms,
        )
        return replace(renewed, producer_id=producer_id)

    def joined_by(
        self, partitions: frozenset[TopicPartition], *, client_version: int, now_ms: int
    ) -> Transaction:
        """Partitions are added; the first ones start the transaction."""
        is_open = self.state is _S.ONGOING
        return replace(
            self,
            state=_S.ONGOING,
            partitions=self.partitions | partitions if is_open else partitions,
            started_ms=self.started_ms if is_open else now_ms,
            previous_producer_id=self.producer_id,
            client_version=client_version,
            updated_ms=now_ms,
        )

    def prepared(
        self,
        *,
        commit: bool,
        producer_epoch: int,
        last_producer_epoch: int,
        client_version: int,
        now_ms: int,
        next_producer_id: int = NO_PRODUCER_ID,
    ) -> Transaction:
        """The outcome is settled.  Whatever happens from here on, it does not change."""
        is_open = self.state is _S.ONGOING
        return replace(
            self,
            state=_S.PREPARE_COMMIT if commit else _S.PREPARE_ABORT,
            producer_epoch=producer_epoch,
            last_producer_epoch=last_producer_epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=next_producer_id,
            partitions=self.partitions if is_open else frozenset(),
            started_ms=self.started_ms if is_open else now_ms,
            client_version=client_version,
            updated_ms=now_ms,
        )

    def completed(self, *, now_ms: int) -> Transaction:
        """Every partition has its marker."""
        rotates = self.next_producer_id != NO_PRODUCER_ID
        return replace(
            self,
            state=_S.COMPLETE_COMMIT if self.is_commit else _S.COMPLETE_ABORT,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            updated_ms=now_ms,
        )


def new_transaction(
    transactional_id: str, *, producer_id: int, timeout_ms: int, now_ms: int
) -> Transaction:
    """A transactional id of which nothing is known."""
    return Transaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=0,
        previous_producer_id=producer_id,
        timeout_ms=timeout_ms,
        state=_S.EMPTY,
        updated_ms=now_ms,
    )


def check_step(before: Transaction | None, after: Transaction) -> None:
    """Assert that a step that was decided here is one of `TRANSITIONS`, and epochs only grow."""
    if before is None:
        assert after.state is _S.EMPTY, f"a new id starts as {after.state.label}"
        return
    assert after.state in TRANSITIONS[before.state], (
        f"{after.transactional_id}: {before.state.label} -> {after.state.label}"
    )
    if after.producer_id == before.producer_id:
        assert after.producer_epoch >= before.producer_epoch, "epochs only grow"
    else:
        assert after.producer_epoch == 0, "a new producer id starts with epoch 0"
    if after.state is _S.ONGOING and before.state is _S.ONGOING:
        assert after.partitions >= before.partitions, "no partition leaves an open transaction"
    if after.state.is_prepared and before.state is _S.ONGOING:
        assert after.partitions == before.partitions, "every partition gets its marker"

"""May a leader append this transactional batch?  Pure.

A batch that is appended after its transaction has ended would stay open for ever, and hold back
every reader.  So before the first batch of a transaction the leader of a partition asks the
coordinator: older clients have added the partition themselves and the leader has it *verified*,
newer ones leave it to the leader to *add* it (KIP-890).  While the answer is on its way the
transaction may end and another one begin, so each question has a guard of its own, which a marker
or an append takes away: an answer whose guard is gone is too late.

Once the first batch is in the log, the log itself knows that the transaction is open, and until a
marker comes nothing needs to be asked.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from itertools import count
from typing import Final, NewType

from barnabas.base.errors import ErrorCode

Guard = NewType("Guard", int)
UNGUARDED: Final = Guard(0)
"""The transaction is open in the log: no question was asked."""


class Operation(enum.Enum):
    """What a client expects of the leader, by the version of its request."""

    VERIFY_OR_FAIL = "verify; only INVALID_TXN_STATE is understood"
    VERIFY = "verify"
    ADD = "add"


def operation_of_produce(version: int) -> Operation:
    if version >= 12:
        return Operation.ADD
    return Operation.VERIFY if version == 11 else Operation.VERIFY_OR_FAIL


def operation_of_offset_commit(version: int) -> Operation:
    """The same for TxnOffsetCommit."""
    if version >= 5:
        return Operation.ADD
    return Operation.VERIFY if version == 4 else Operation.VERIFY_OR_FAIL


@dataclass(slots=True)
class _Question:
    guard: Guard
    epoch: int
    lowest_sequence: int
    asked_ms: int


class Verifications:
    """The questions of one partition, at most one for each producer id.  Memory only.

    Owned by the partition, on the loop thread.  `is_open` is what the log says: whether a
    transaction of this producer id and epoch has records in it.
    """

    __slots__ = ("_guards", "_questions")

    def __init__(self) -> None:
        self._questions: dict[int, _Question] = {}
        self._guards = count(UNGUARDED + 1)

    def __len__(self) -> int:
        return len(self._questions)

    def begin(
        self, producer_id: int, epoch: int, sequence: int, *, is_open: bool, now_ms: int
    ) -> Guard:
        """A batch has come: UNGUARDED if it may be appended at once, else ask the coordinator.

        Batches that come while an answer is awaited share its guard.
        """
        if is_open:
            return UNGUARDED
        question = self._questions.get(producer_id)
        if question is None:
            question = _Question(Guard(next(self._guards)), epoch, sequence, now_ms)
            self._questions[producer_id] = question
        elif epoch > question.epoch:
            question.epoch, question.lowest_sequence = epoch, sequence
        elif epoch == question.epoch:
            question.lowest_sequence = min(question.lowest_sequence, sequence)
        return question.guard

    def may_append(
        self, producer_id: int, epoch: int, sequence: int, guard: Guard, *, is_open: bool
    ) -> ErrorCode:
        """The coordinator has agreed: is that still worth anything?

        OUT_OF_ORDER_SEQUENCE_NUMBER: an earlier batch has come and must be first; it was refused
        with an error after which the client sends it again.
        """
        if is_open:
            return ErrorCode.NONE
        question = self._questions.get(producer_id)
        if question is None or guard != question.guard:
            return ErrorCode.INVALID_TXN_STATE
        if epoch == question.epoch and sequence > question.lowest_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE

    def settled(self, producer_id: int) -> None:
        """A batch of the producer, or a marker, was appended: older answers are worth nothing."""
        self._questions.pop(producer_id, None)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget questions of producers that went away."""
        old = [
            producer_id
            for producer_id, question in self._questions.items()
            if now_ms - question.asked_ms >= expiration_ms
        ]
        for producer_id in old:
            del self._questions[producer_id]
        return len(old)


_UNDECIDED: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def told_to_producer(code: ErrorCode, operation: Operation) -> ErrorCode:
    """The coordinator's error in words that the client of a Produce understands.

    A retriable error becomes NOT_ENOUGH_REPLICAS: even old producers then send the batch again, and
    do not fetch metadata first.  Newer ones know CONCURRENT_TRANSACTIONS and come back sooner.
    """
    code = told_to_client(code, operation)
    if code in _UNDECIDED:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and operation is not Operation.ADD:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return code


def told_to_client(code: ErrorCode, operation: Operation) -> ErrorCode:
    """The part of it that also holds for TxnOffsetCommit."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and operation is Operation.VERIFY_OR_FAIL:
        return ErrorCode.INVALID_TXN_STATE
    return code


def asks_again(
    code: ErrorCode, operation: Operation, *, asked_ms: int, now_ms: int, patience_ms: int
) -> bool:
    """Whether to ask the coordinator once more, instead of telling the client to.

    The last transaction of a producer that adds is often still being ended, for a moment.
    """
    return (
        code is ErrorCode.CONCURRENT_TRANSACTIONS
        and operation is Operation.ADD
        and now_ms - asked_ms < patience_ms
    )

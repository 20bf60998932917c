"""What a leader must know before it appends a transactional batch."""

from __future__ import annotations

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn.verification import (
    UNGUARDED,
    Operation,
    Verifications,
    asks_again,
    operation_of_offset_commit,
    operation_of_produce,
    told_to_producer,
)

E = ErrorCode
PID = 100


def begin(
    verifications: Verifications, *, epoch: int = 0, sequence: int = 0, is_open: bool = False
) -> int:
    return verifications.begin(PID, epoch, sequence, is_open=is_open, now_ms=0)


def may_append(
    verifications: Verifications,
    guard: int,
    *,
    epoch: int = 0,
    sequence: int = 0,
    is_open: bool = False,
) -> ErrorCode:
    return verifications.may_append(PID, epoch, sequence, guard, is_open=is_open)  # type: ignore[arg-type]


def test_in_an_open_transaction_nothing_is_asked() -> None:
    verifications = Verifications()
    guard = begin(verifications, is_open=True)
    assert guard == UNGUARDED
    assert may_append(verifications, guard, is_open=True) is E.NONE
    assert len(verifications) == 0


def test_the_first_batch_is_appended_when_the_coordinator_has_agreed() -> None:
    verifications = Verifications()
    guard = begin(verifications)
    assert guard != UNGUARDED
    assert may_append(verifications, guard) is E.NONE


def test_batches_that_wait_for_the_same_answer_share_it() -> None:
    verifications = Verifications()
    assert begin(verifications, sequence=0) == begin(verifications, sequence=1)


def test_an_answer_is_too_late_when_a_marker_came_first() -> None:
    verifications = Verifications()
    guard = begin(verifications)
    verifications.settled(PID)
    assert may_append(verifications, guard) is E.INVALID_TXN_STATE


def test_an_answer_for_an_earlier_transaction_does_not_count_for_a_later_one() -> None:
    verifications = Verifications()
    first = begin(verifications)
    verifications.settled(PID)
    second = begin(verifications)
    assert may_append(verifications, first) is E.INVALID_TXN_STATE
    assert may_append(verifications, second) is E.NONE


def test_a_batch_that_saw_the_transaction_open_is_refused_after_its_end() -> None:
    verifications = Verifications()
    guard = begin(verifications, is_open=True)
    assert may_append(verifications, guard, is_open=False) is E.INVALID_TXN_STATE
    begin(verifications)
    assert may_append(verifications, guard, is_open=False) is E.INVALID_TXN_STATE


def test_a_later_batch_waits_for_an_earlier_one_that_came_after_it() -> None:
    verifications = Verifications()
    guard = begin(verifications, sequence=5)
    begin(verifications, sequence=0)
    assert may_append(verifications, guard, sequence=5) is E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert may_append(verifications, guard, sequence=0) is E.NONE


def test_a_new_epoch_counts_from_its_own_first_batch() -> None:
    verifications = Verifications()
    begin(verifications, epoch=0, sequence=0)
    guard = begin(verifications, epoch=1, sequence=4)
    begin(verifications, epoch=0, sequence=2)
    assert may_append(verifications, guard, epoch=1, sequence=4) is E.NONE
    assert may_append(verifications, guard, epoch=1, sequence=5) is E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producers_are_independent() -> None:
    verifications = Verifications()
    guard = begin(verifications)
    other = verifications.begin(PID + 1, 0, 0, is_open=False, now_ms=0)
    verifications.settled(PID + 1)
    assert other != guard
    assert may_append(verifications, guard) is E.NONE


def test_questions_of_producers_that_went_away_are_forgotten() -> None:
    verifications = Verifications()
    guard = begin(verifications)
    assert verifications.expire(999, 1_000) == 0
    assert verifications.expire(1_000, 1_000) == 1
    assert may_append(verifications, guard) is E.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("produce", "offset_commit", "operation"),
    [
        (3, 0, Operation.VERIFY_OR_FAIL),
        (10, 3, Operation.VERIFY_OR_FAIL),
        (11, 4, Operation.VERIFY),
        (12, 5, Operation.ADD),
        (13, 6, Operation.ADD),
    ],
)
def test_what_is_done_depends_on_the_version(
    produce: int, offset_commit: int, operation: Operation
) -> None:
    assert operation_of_produce(produce) is operation
    assert operation_of_offset_commit(offset_commit) is operation


FAIL, V, A = Operation.VERIFY_OR_FAIL, Operation.VERIFY, Operation.ADD


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (E.NONE, {FAIL: E.NONE, V: E.NONE, A: E.NONE}),
        (E.PRODUCER_FENCED, dict.fromkeys((FAIL, V, A), E.INVALID_PRODUCER_EPOCH)),
        (E.INVALID_PRODUCER_ID_MAPPING, dict.fromkeys((FAIL, V, A), E.INVALID_PRODUCER_ID_MAPPING)),
        (
            E.TRANSACTION_ABORTABLE,
            {FAIL: E.INVALID_TXN_STATE, V: E.TRANSACTION_ABORTABLE, A: E.TRANSACTION_ABORTABLE},
        ),
        (
            E.CONCURRENT_TRANSACTIONS,
            {
                FAIL: E.NOT_ENOUGH_REPLICAS,
                V: E.NOT_ENOUGH_REPLICAS,
                A: E.CONCURRENT_TRANSACTIONS,
            },
        ),
        (E.NOT_COORDINATOR, dict.fromkeys((FAIL, V, A), E.NOT_ENOUGH_REPLICAS)),
        (E.COORDINATOR_LOAD_IN_PROGRESS, dict.fromkeys((FAIL, V, A), E.NOT_ENOUGH_REPLICAS)),
        (E.COORDINATOR_NOT_AVAILABLE, dict.fromkeys((FAIL, V, A), E.NOT_ENOUGH_REPLICAS)),
        (E.NETWORK_EXCEPTION, dict.fromkeys((FAIL, V, A), E.NOT_ENOUGH_REPLICAS)),
    ],
)
def test_errors_are_told_so_that_the_client_does_the_right_thing(
    code: ErrorCode, told: dict[Operation, ErrorCode]
) -> None:
    for operation, expected in told.items():
        assert told_to_producer(code, operation) is expected


def test_only_an_add_to_a_transaction_that_is_being_ended_is_tried_again() -> None:
    def again(code: ErrorCode, operation: Operation, now_ms: int) -> bool:
        return asks_again(code, operation, asked_ms=1_000, now_ms=now_ms, patience_ms=100)

    assert again(E.CONCURRENT_TRANSACTIONS, A, 1_099)
    assert not again(E.CONCURRENT_TRANSACTIONS, A, 1_100)
    assert not again(E.CONCURRENT_TRANSACTIONS, V, 1_000)
    assert not again(E.PRODUCER_FENCED, A, 1_000)

"""Transactions that take too long, ids that are not used, and starting again from the log."""

from __future__ import annotations

from dataclasses import replace

import pytest
from transactions import (
    A0,
    A1,
    SETTINGS,
    Coordinator,
    Ids,
    add,
    end,
    init,
    loaded_shard,
    markers_written,
    stored,
)

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision, Producer
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import MAX_EPOCH, TransactionState
from barnabas.coordinator.txn.records import record_of, tombstone
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue

S = TransactionState
HOUR = 3_600_000
DAY = 24 * HOUR


def state(coordinator: Coordinator, name: str = "t") -> TransactionState:
    return coordinator.shard.transactions[name].state


def opened(at_ms: int, *, timeout_ms: int = 1_000) -> Coordinator:
    coordinator = Coordinator()
    coordinator.do(init(timeout_ms=timeout_ms), 0)
    coordinator.do(add(100, 0, A0), at_ms)
    return coordinator


# Taking too long


def test_nothing_is_due_before_the_timeout_has_passed() -> None:
    coordinator = opened(5_000)
    assert coordinator.shard.next_deadline() == 6_001
    assert coordinator.tick(6_000) == []


def test_after_the_timeout_the_transaction_is_aborted_with_the_next_epoch() -> None:
    coordinator = opened(5_000)
    before = coordinator.shard.transactions["t"]

    (decision,) = coordinator.tick(6_001)

    aborted = before.prepared(
        commit=False, producer_epoch=1, last_producer_epoch=0, client_version=2, now_ms=6_001
    )
    assert decision == Decision(
        records=(record_of(aborted, transaction_version=2),),
        effects=(
            WriteMarkers(
                transactional_id="t",
                producer_id=100,
                producer_epoch=1,
                is_commit=False,
                partitions=(A0,),
                coordinator_epoch=0,
                transaction_version=2,
            ),
        ),
        standalone=True,
    )


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_producer_whose_transaction_timed_out_can_neither_add_nor_commit(level: int) -> None:
    coordinator = opened(5_000)
    coordinator.shard.settings = replace(SETTINGS, transaction_version=level)
    version = 5 if level == 2 else 4
    coordinator.tick(6_001)
    coordinator.do(markers_written(100, 1))
    assert state(coordinator) is S.COMPLETE_ABORT
    assert coordinator.do(add(100, 0, A1)) == {A1: ErrorCode.PRODUCER_FENCED}
    expected = ErrorCode.INVALID_TXN_STATE if level == 2 else ErrorCode.PRODUCER_FENCED
    assert coordinator.do(end(100, 0, version=version)).error_code == expected


def test_its_abort_is_answered_as_done_and_it_can_go_on_in_the_second_protocol() -> None:
    coordinator = opened(5_000)
    coordinator.tick(6_001)
    coordinator.do(markers_written(100, 1))
    reply = coordinator.do(end(100, 0, commit=False))
    assert (reply.error_code, reply.producer_id, reply.producer_epoch) == (0, 100, 1)


def test_adding_partitions_does_not_prolong_it() -> None:
    coordinator = opened(5_000)
    coordinator.do(add(100, 0, A1), 5_900)
    assert len(coordinator.tick(6_001)) == 1


def test_an_ended_transaction_does_not_time_out() -> None:
    coordinator = opened(5_000)
    coordinator.do(end(100, 0), 5_500)
    assert coordinator.tick(9_000) == []
    assert state(coordinator) is S.PREPARE_COMMIT


def test_the_next_transaction_has_its_own_time() -> None:
    coordinator = opened(5_000)
    coordinator.do(end(100, 0), 5_500)
    coordinator.do(markers_written(100, 1), 5_500)
    coordinator.do(add(100, 1, A0), 5_800)
    assert coordinator.tick(6_001) == []
    assert coordinator.shard.next_deadline() == 6_801
    assert len(coordinator.tick(6_801)) == 1


def test_they_are_looked_for_no_more_often_than_the_setting_says() -> None:
    coordinator = opened(5_000)
    coordinator.do(init("u", timeout_ms=1_000), 0)
    coordinator.do(add(101, 0, A0, name="u"), 5_500)
    assert len(coordinator.tick(6_001)) == 1
    assert coordinator.shard.next_deadline() == 16_001
    assert coordinator.tick(16_000) == []
    assert len(coordinator.tick(16_001)) == 1
    assert state(coordinator, "u") is S.PREPARE_ABORT


def test_several_are_aborted_at_once() -> None:
    coordinator = Coordinator()
    for number in range(3):
        coordinator.do(init(str(number), timeout_ms=1_000))
        coordinator.do(add(100 + number, 0, A0, name=str(number)))
    assert len(coordinator.tick(1_001)) == 3


def test_an_abort_that_could_not_be_written_is_tried_again() -> None:
    coordinator = opened(5_000)
    assert len(list(coordinator.shard.tick(6_001))) == 1  # and nobody carries it out
    assert state(coordinator) is S.ONGOING
    assert coordinator.shard.next_deadline() == 16_001
    coordinator.tick(16_001)
    assert state(coordinator) is S.PREPARE_ABORT


def test_without_a_next_producer_id_it_is_tried_again() -> None:
    coordinator = opened(5_000)
    coordinator.shard.transactions["t"] = replace(
        coordinator.shard.transactions["t"], producer_epoch=MAX_EPOCH - 1
    )
    coordinator.ids.is_empty = True
    assert coordinator.tick(6_001) == []
    coordinator.ids.is_empty = False
    assert len(coordinator.tick(16_001)) == 1
    coordinator.do(markers_written(100, MAX_EPOCH))
    transaction = coordinator.shard.transactions["t"]
    assert (transaction.producer_id, transaction.producer_epoch) == (101, 0)


# Not being used


def test_an_unused_id_is_forgotten_after_a_week() -> None:
    coordinator = Coordinator()
    coordinator.restart(now_ms=0)
    coordinator.do(init(), 0)
    assert coordinator.shard.next_deadline() == HOUR
    assert coordinator.tick(HOUR) == []
    assert coordinator.tick(7 * DAY - 1) == []
    (decision,) = coordinator.tick(7 * DAY - 1 + HOUR)
    assert decision == Decision(records=(tombstone("t"),), atomic=False, standalone=True)
    assert coordinator.shard.transactions == {}
    assert coordinator.shard.next_deadline() is None


def test_ids_are_forgotten_exactly_when_the_setting_says() -> None:
    settings = TransactionSettings(id_expiration_ms=1_000, expiry_interval_ms=1)
    coordinator = Coordinator(settings)
    coordinator.do(init(), 0)
    assert coordinator.tick(999) == []
    assert len(coordinator.tick(1_000)) == 1


@pytest.mark.parametrize("commit", [False, True])
def test_a_completed_id_is_forgotten_and_an_open_or_prepared_one_is_not(commit: bool) -> None:
    settings = TransactionSettings(
        id_expiration_ms=1_000, expiry_interval_ms=1, abort_interval_ms=DAY
    )
    coordinator = Coordinator(settings)
    for number, name in enumerate(("done", "prepared", "open")):
        coordinator.do(init(name))
        coordinator.do(add(100 + number, 0, A0, name=name))
    coordinator.do(end(100, 0, name="done", commit=commit))
    coordinator.do(markers_written(100, 1, "done"))
    coordinator.do(end(101, 0, name="prepared", commit=commit))
    coordinator.tick(5_000)
    assert set(coordinator.shard.transactions) == {"prepared", "open"}


def test_an_id_that_is_used_stays() -> None:
    settings = TransactionSettings(id_expiration_ms=1_000, expiry_interval_ms=1)
    coordinator = Coordinator(settings)
    for name in "tuv":
        coordinator.do(init(name), 0)
    coordinator.do(init("t"), 500)
    coordinator.tick(1_000)
    assert set(coordinator.shard.transactions) == {"t"}


def test_a_forgotten_id_that_comes_back_is_a_new_one() -> None:
    settings = TransactionSettings(id_expiration_ms=1_000, expiry_interval_ms=1)
    coordinator = Coordinator(settings)
    coordinator.do(init(), 0)
    coordinator.tick(1_000)
    reply = coordinator.do(init(producer_id=100, epoch=0), 2_000)
    assert (reply.producer_id, reply.producer_epoch) == (101, 0)
    coordinator.restart()
    assert coordinator.shard.transactions["t"].producer_id == 101


# Starting again


def test_a_coordinator_that_takes_over_finishes_what_was_prepared() -> None:
    coordinator = opened(0)
    coordinator.do(end(100, 0), 5)
    coordinator.effects.clear()
    coordinator.restart(now_ms=10)

    assert coordinator.shard.next_deadline() == 0
    (decision,) = coordinator.tick(10)

    markers = WriteMarkers(
        transactional_id="t",
        producer_id=100,
        producer_epoch=1,
        is_commit=True,
        partitions=(A0,),
        coordinator_epoch=1,
        transaction_version=2,
    )
    assert decision == Decision(effects=(markers,))
    assert coordinator.tick(11) == []


def test_an_open_transaction_keeps_its_timeout_over_a_restart() -> None:
    coordinator = opened(5_000)
    coordinator.restart(now_ms=5_500)
    assert coordinator.shard.next_deadline() == 6_001
    assert len(coordinator.tick(6_001)) == 1


def test_a_coordinator_that_was_away_aborts_at_once() -> None:
    coordinator = opened(5_000)
    coordinator.restart(now_ms=50_000)
    assert len(coordinator.tick(50_000)) == 1


def test_records_that_no_coordinator_writes_are_passed_over() -> None:
    log = [
        stored(
            CoordinatorRecord(
                key=TransactionLogKey(transactional_id="t"),
                key_version=0,
                value=TransactionLogValue(producer_id=status, transaction_status=status),
            )
        )
        for status in (0, 6, 7, 42)
    ]
    shard = loaded_shard(log, ids=Ids())
    assert shard.transactions["t"].producer_id == 0


def test_a_stray_marker_changes_nothing() -> None:
    coordinator = opened(0)
    before = dict(coordinator.shard.transactions)
    coordinator.shard.replay_end_txn(Producer(100, 0), committed=True)
    assert coordinator.shard.transactions == before


def test_nobody_waits() -> None:
    assert list(opened(0).shard.waiting()) == []

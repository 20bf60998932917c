"""EndTxn: both protocols, repeats, and what is too late."""

from __future__ import annotations

from itertools import product

import pytest
from transactions import A0, A1, B0, V1, Coordinator, add, end, init, markers_written

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.runtime_types import Decision
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import MAX_EPOCH, Transaction, TransactionState
from barnabas.coordinator.txn.records import TransactionRecord
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

S = TransactionState
E = ErrorCode
BOTH = [False, True]


def value(**changes: object) -> TransactionLogValue:
    facts: dict[str, object] = {
        "producer_id": 100,
        "previous_producer_id": 100,
        "transaction_timeout_ms": 60_000,
        "transaction_start_timestamp_ms": 10,
        "transaction_last_update_timestamp_ms": 20,
    }
    return TransactionLogValue(**{**facts, **changes})


def record(value: TransactionLogValue, last_epoch: int) -> TransactionRecord:
    return TransactionRecord(
        key=TransactionLogKey(transactional_id="t"),
        key_version=0,
        value=value,
        value_version=1,
        last_producer_epoch=last_epoch,
    )


def open_transaction(client_version: int = 2) -> Coordinator:
    """Producer 100, epoch 0, began at 10 with one partition of each topic."""
    coordinator = Coordinator()
    coordinator.do(init(), 5)
    coordinator.do(add(100, 0, A0, B0, client_version=client_version), 10)
    return coordinator


@pytest.mark.parametrize("commit", BOTH)
def test_an_end_is_written_with_the_next_epoch_and_then_the_markers(commit: bool) -> None:
    decision = open_transaction().shard.decide(end(100, 0, commit=commit), ticket=1, now_ms=20)

    partitions = [
        PartitionsSchema(topic="a", partition_ids=[0]),
        PartitionsSchema(topic="b", partition_ids=[0]),
    ]
    assert decision == Decision(
        records=(
            record(
                value(
                    producer_epoch=1,
                    transaction_status=2 if commit else 3,
                    transaction_partitions=partitions,
                    client_transaction_version=2,
                ),
                last_epoch=0,
            ),
        ),
        reply=EndTxnResponse(producer_id=100, producer_epoch=1),
        effects=(
            WriteMarkers(
                transactional_id="t",
                producer_id=100,
                producer_epoch=1,
                is_commit=commit,
                partitions=(A0, B0),
                coordinator_epoch=0,
                transaction_version=2,
            ),
        ),
        standalone=True,
    )


@pytest.mark.parametrize("commit", BOTH)
def test_a_client_of_the_first_protocol_keeps_its_epoch(commit: bool) -> None:
    shard = open_transaction(V1).shard
    decision = shard.decide(end(100, 0, commit=commit, version=4), ticket=1, now_ms=20)
    (written,), (markers,) = decision.records, decision.effects
    assert isinstance(written.value, TransactionLogValue)
    assert written.value.producer_epoch == markers.producer_epoch == 0
    assert written.value.client_transaction_version == markers.transaction_version == 0
    assert decision.reply == EndTxnResponse()


@pytest.mark.parametrize("commit", BOTH)
def test_when_all_markers_are_written_the_transaction_is_complete(commit: bool) -> None:
    coordinator = open_transaction()
    coordinator.do(end(100, 0, commit=commit), 15)

    decision = coordinator.shard.decide(markers_written(100, 1), ticket=1, now_ms=20)

    completed = value(
        producer_epoch=1, transaction_status=4 if commit else 5, client_transaction_version=2
    )
    assert decision == Decision(records=(record(completed, 0),), reply=E.NONE, standalone=True)


def test_markers_written_is_said_twice_without_harm() -> None:
    coordinator = open_transaction()
    coordinator.do(end(100, 0))
    coordinator.do(markers_written(100, 1))
    for event in (markers_written(100, 1), markers_written(7, 7), markers_written(1, 1, "u")):
        assert coordinator.shard.decide(event, ticket=1, now_ms=0) == Decision(reply=E.NONE)


def test_markers_of_an_earlier_transaction_do_not_complete_a_later_one() -> None:
    coordinator = open_transaction()
    coordinator.do(end(100, 0))
    coordinator.do(markers_written(100, 1))
    coordinator.do(add(100, 1, A0))
    coordinator.do(end(100, 1))
    coordinator.do(markers_written(100, 1))
    assert coordinator.shard.transactions["t"].state is S.PREPARE_COMMIT


@pytest.mark.parametrize(("commit", "version"), [*product(BOTH, range(6))])
def test_while_the_markers_are_written_any_end_waits(commit: bool, version: int) -> None:
    coordinator = open_transaction()
    coordinator.do(end(100, 0, commit=True, version=version))
    epoch = 0 if version < 5 else 1
    reply = coordinator.do(end(100, epoch, commit=commit, version=version))
    assert reply == EndTxnResponse(error_code=E.CONCURRENT_TRANSACTIONS)
    assert coordinator.shard.transactions["t"].state is S.PREPARE_COMMIT


# Repeats and late ends.  In the state given, producer 100 has epoch 5.

PF, ITS, OK, BUMP = E.PRODUCER_FENCED, E.INVALID_TXN_STATE, E.NONE, None
V2_TABLE = {
    # state: (abort of epoch 4, abort of epoch 5, commit of 4, commit of 5)
    S.EMPTY: (PF, BUMP, PF, ITS),
    S.ONGOING: (PF, BUMP, PF, BUMP),
    S.COMPLETE_ABORT: (OK, BUMP, ITS, ITS),
    S.COMPLETE_COMMIT: (ITS, BUMP, OK, ITS),
}
V1_TABLE = {
    S.EMPTY: (PF, ITS, PF, ITS),
    S.ONGOING: (PF, BUMP, PF, BUMP),
    S.COMPLETE_ABORT: (PF, OK, PF, ITS),
    S.COMPLETE_COMMIT: (PF, ITS, PF, OK),
}
CASES = [(False, 4), (False, 5), (True, 4), (True, 5)]


def in_state(state: TransactionState, client_version: int = 2) -> Coordinator:
    coordinator = Coordinator()
    coordinator.shard.transactions["t"] = Transaction(
        transactional_id="t",
        producer_id=100,
        producer_epoch=5,
        previous_producer_id=100,
        timeout_ms=60_000,
        state=state,
        updated_ms=0,
        partitions=frozenset((A0,)) if state is S.ONGOING else frozenset(),
        client_version=client_version,
    )
    return coordinator


@pytest.mark.parametrize("state", V2_TABLE)
@pytest.mark.parametrize("case", range(4))
def test_repeats_in_the_second_protocol(state: TransactionState, case: int) -> None:
    commit, epoch = CASES[case]
    coordinator = in_state(state)
    reply = coordinator.do(end(100, epoch, commit=commit))
    match V2_TABLE[state][case]:
        case None:
            assert reply == EndTxnResponse(producer_id=100, producer_epoch=6)
            settled = coordinator.shard.transactions["t"].state
            if state is S.ONGOING:
                assert settled is (S.PREPARE_COMMIT if commit else S.PREPARE_ABORT)
            else:
                assert settled is S.COMPLETE_ABORT  # nothing to mark
        case E.NONE:
            assert reply == EndTxnResponse(producer_id=100, producer_epoch=5)
            assert coordinator.log == []
        case code:
            assert reply == EndTxnResponse(error_code=code)
            assert coordinator.log == []


@pytest.mark.parametrize("state", V1_TABLE)
@pytest.mark.parametrize("case", range(4))
def test_repeats_in_the_first_protocol(state: TransactionState, case: int) -> None:
    commit, epoch = CASES[case]
    coordinator = in_state(state, client_version=0)
    reply = coordinator.do(end(100, epoch, commit=commit, version=4))
    assert reply == EndTxnResponse(error_code=V1_TABLE[state][case] or E.NONE)
    is_written = V1_TABLE[state][case] is BUMP
    assert len(coordinator.log) == is_written
    assert coordinator.shard.transactions["t"].producer_epoch == 5


def test_an_abort_of_nothing_is_complete_at_once() -> None:
    decision = in_state(S.EMPTY).shard.decide(end(100, 5, commit=False), ticket=1, now_ms=20)
    both = {
        "producer_epoch": 6,
        "transaction_start_timestamp_ms": 20,
        "client_transaction_version": 2,
    }
    assert decision == Decision(
        records=(
            record(value(transaction_status=3, **both), last_epoch=5),
            record(value(transaction_status=5, **both), last_epoch=5),
        ),
        reply=EndTxnResponse(producer_id=100, producer_epoch=6),
        standalone=True,
    )


def test_a_zombie_does_not_learn_the_epoch_of_a_successor_of_the_first_protocol() -> None:
    coordinator = in_state(S.COMPLETE_COMMIT, client_version=0)
    assert coordinator.do(end(100, 4)) == EndTxnResponse(error_code=PF)


@pytest.mark.parametrize("commit", BOTH)
def test_the_bytes_of_an_earlier_end_cannot_end_a_later_transaction(commit: bool) -> None:
    late = end(100, 0, commit=commit).request.encode(5)
    coordinator = open_transaction()
    coordinator.do(end(100, 0, commit=commit))
    coordinator.do(markers_written(100, 1))
    coordinator.do(add(100, 1, A1))
    before = coordinator.shard.transactions["t"]

    replayed = EndTxnRequest.decode(late, 5)
    event = end(replayed.producer_id, replayed.producer_epoch, commit=replayed.committed)

    assert coordinator.do(event) == EndTxnResponse(error_code=PF)
    assert coordinator.shard.transactions["t"] == before


# Who may not


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize(
    ("name", "producer_id", "epoch", "code"),
    [
        ("", 100, 5, E.INVALID_REQUEST),
        ("unknown", 100, 5, E.INVALID_PRODUCER_ID_MAPPING),
        ("t", 99, 5, E.INVALID_PRODUCER_ID_MAPPING),
        ("t", 100, 3, PF),
        ("t", 100, 6, PF),
    ],
)
def test_only_the_producer_itself_may_end(
    name: str, producer_id: int, epoch: int, code: ErrorCode, version: int
) -> None:
    if code is PF and version < 2:
        code = E.INVALID_PRODUCER_EPOCH
    reply = in_state(S.ONGOING).do(end(producer_id, epoch, name=name, version=version))
    assert reply == EndTxnResponse(error_code=code)


# Running out of epochs


def exhausted() -> Coordinator:
    coordinator = in_state(S.EMPTY)
    coordinator.ids.numbers = iter([7777])
    shard = coordinator.shard
    transaction = shard.transactions["t"]
    shard.transactions["t"] = transaction.renewed(
        producer_epoch=MAX_EPOCH - 1, last_producer_epoch=-1, timeout_ms=1, now_ms=0
    )
    return coordinator


@pytest.mark.parametrize("commit", BOTH)
def test_the_last_epoch_ends_with_a_new_producer_id(commit: bool) -> None:
    coordinator = exhausted()
    coordinator.do(add(100, MAX_EPOCH - 1, A0))
    last = end(100, MAX_EPOCH - 1, commit=commit)

    assert coordinator.do(last) == EndTxnResponse(producer_id=7777, producer_epoch=0)
    (markers,) = coordinator.effects
    assert (markers.producer_id, markers.producer_epoch) == (100, MAX_EPOCH)


def test_the_new_producer_id_takes_over_when_the_markers_are_written() -> None:
    coordinator = exhausted()
    coordinator.do(add(100, MAX_EPOCH - 1, A0))
    last = end(100, MAX_EPOCH - 1)
    assert coordinator.do(last) == EndTxnResponse(producer_id=7777, producer_epoch=0)

    waits = {A0: E.CONCURRENT_TRANSACTIONS}
    assert coordinator.do(add(7777, 0, A0)) == waits
    abort = end(7777, 0, commit=False)
    assert coordinator.do(abort) == EndTxnResponse(error_code=E.CONCURRENT_TRANSACTIONS)
    coordinator.restart(compact=True)  # the next id is in the log
    assert coordinator.do(add(7777, 0, A0)) == waits

    coordinator.do(markers_written(100, MAX_EPOCH))
    assert coordinator.do(last) == EndTxnResponse(producer_id=7777, producer_epoch=0)
    contrary = end(100, MAX_EPOCH - 1, commit=False)
    assert coordinator.do(contrary) == EndTxnResponse(error_code=ITS)
    assert coordinator.do(add(7777, 0, A0)) == {A0: E.NONE}
    mismatch = EndTxnResponse(error_code=E.INVALID_PRODUCER_ID_MAPPING)
    assert coordinator.do(last) == mismatch  # no longer a repeat: the next one has begun


def test_without_a_next_producer_id_the_last_epoch_cannot_end_yet() -> None:
    coordinator = exhausted()
    coordinator.do(add(100, MAX_EPOCH - 1, A0))
    coordinator.ids.is_empty = True
    last = end(100, MAX_EPOCH - 1)
    assert coordinator.do(last).error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    coordinator.ids.is_empty = False
    assert coordinator.do(last).error_code == E.NONE


# What the cluster has agreed on


@pytest.mark.parametrize(("level", "code"), [(0, E.UNSUPPORTED_VERSION), (1, E.NONE), (2, E.NONE)])
def test_the_second_protocol_needs_records_that_can_tell_of_it(level: int, code: ErrorCode) -> None:
    coordinator = Coordinator(TransactionSettings(transaction_version=level))
    coordinator.do(init())
    assert coordinator.do(add(100, 0, A0)) == {A0: code}
    coordinator.do(add(100, 0, A0, client_version=V1))
    assert coordinator.do(end(100, 0)).error_code == code
    expected = S.PREPARE_COMMIT if code is E.NONE else S.ONGOING
    assert coordinator.shard.transactions["t"].state is expected

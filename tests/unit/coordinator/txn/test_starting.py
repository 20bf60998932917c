"""InitProducerId with a transactional id."""

from __future__ import annotations

import pytest
from transactions import A0, A1, SETTINGS, Coordinator, add, end, init, markers_written

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.runtime_types import Decision
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import MAX_EPOCH, Transaction, TransactionState
from barnabas.coordinator.txn.records import TransactionRecord, record_of
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.protocol.messages.init_producer_id import InitProducerIdResponse
from barnabas.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

FENCED = ErrorCode.PRODUCER_FENCED


def given(coordinator: Coordinator, **values: object) -> Transaction:
    """Put a transactional id `t` into some state."""
    facts: dict[str, object] = {
        "transactional_id": "t",
        "producer_id": 100,
        "producer_epoch": 0,
        "timeout_ms": 60_000,
        "state": TransactionState.EMPTY,
        "updated_ms": 0,
    }
    transaction = Transaction(**{**facts, **values})  # type: ignore[arg-type]
    coordinator.shard.transactions["t"] = transaction
    return transaction


def refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


def granted(producer_id: int, epoch: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)


def test_a_new_id_gets_a_new_producer_id_and_epoch_zero() -> None:
    decision = Coordinator().shard.decide(init(), ticket=1, now_ms=5)

    assert decision == Decision(
        records=(
            TransactionRecord(
                key=TransactionLogKey(transactional_id="t"),
                key_version=0,
                value=TransactionLogValue(
                    producer_id=100,
                    previous_producer_id=100,
                    next_producer_id=-1,
                    producer_epoch=0,
                    transaction_timeout_ms=60_000,
                    transaction_status=0,
                    transaction_partitions=None,
                    transaction_last_update_timestamp_ms=5,
                    transaction_start_timestamp_ms=-1,
                    client_transaction_version=0,
                ),
                value_version=1,
            ),
        ),
        reply=granted(100, 0),
        standalone=True,
    )


def test_deciding_changes_nothing() -> None:
    coordinator = Coordinator()
    coordinator.shard.decide(init(), ticket=1, now_ms=0)
    assert coordinator.shard.transactions == {}


def test_a_successor_gets_the_next_epoch_of_the_same_producer_id() -> None:
    coordinator = Coordinator()
    assert coordinator.do(init()) == granted(100, 0)
    assert coordinator.do(init(timeout_ms=5)) == granted(100, 1)
    assert coordinator.shard.transactions["t"].timeout_ms == 5


def test_ids_are_independent_of_each_other() -> None:
    coordinator = Coordinator()
    assert coordinator.do(init("t")) == granted(100, 0)
    assert coordinator.do(init("u")) == granted(101, 0)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_must_be_positive_and_within_the_limit(timeout_ms: int) -> None:
    reply = Coordinator().do(init(timeout_ms=timeout_ms))
    assert reply == refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def test_the_longest_timeout_is_allowed() -> None:
    assert Coordinator().do(init(timeout_ms=SETTINGS.max_timeout_ms)) == granted(100, 0)


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
def test_half_a_claim_is_no_request(producer_id: int, epoch: int) -> None:
    reply = Coordinator().do(init(producer_id=producer_id, epoch=epoch))
    assert reply == refused(ErrorCode.INVALID_REQUEST)


def test_an_empty_id_is_no_request() -> None:
    assert Coordinator().do(init("")) == refused(ErrorCode.INVALID_REQUEST)


def test_without_producer_ids_at_hand_the_client_is_asked_to_come_again() -> None:
    coordinator = Coordinator()
    coordinator.ids.is_empty = True
    assert coordinator.do(init()) == refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


# Going on after an error (KIP-360)


def test_a_producer_that_goes_on_gets_the_next_epoch() -> None:
    coordinator = Coordinator()
    given(coordinator, producer_epoch=3)
    assert coordinator.do(init(producer_id=100, epoch=3)) == granted(100, 4)


def test_its_retry_gets_the_same_epoch_again() -> None:
    coordinator = Coordinator()
    given(coordinator, producer_epoch=3)
    for _ in range(3):
        assert coordinator.do(init(producer_id=100, epoch=3)) == granted(100, 4)


def test_its_retry_is_fenced_after_a_restart_because_the_log_does_not_tell() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    coordinator.do(init(producer_id=100, epoch=0))
    coordinator.restart()
    assert coordinator.do(init(producer_id=100, epoch=0)) == refused(FENCED)


def test_a_zombie_cannot_go_on_after_its_successor_has_come() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    coordinator.do(init())
    assert coordinator.do(init(producer_id=100, epoch=0)) == refused(FENCED)


def test_a_claim_from_the_future_is_fenced() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    assert coordinator.do(init(producer_id=100, epoch=1)) == refused(FENCED)


def test_a_claim_to_another_producer_id_is_fenced() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    assert coordinator.do(init(producer_id=99, epoch=0)) == refused(FENCED)


def test_a_producer_whose_id_was_forgotten_starts_anew() -> None:
    assert Coordinator().do(init(producer_id=7, epoch=9)) == granted(100, 0)


@pytest.mark.parametrize("version", range(6))
def test_old_clients_know_fencing_as_an_invalid_epoch(version: int) -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    reply = coordinator.do(init(producer_id=99, epoch=0, version=version))
    assert reply == refused(ErrorCode.INVALID_PRODUCER_EPOCH if version < 4 else FENCED)


# Running out of epochs


def test_after_the_last_epoch_comes_a_new_producer_id() -> None:
    coordinator = Coordinator()
    given(coordinator, producer_id=7, producer_epoch=MAX_EPOCH - 2)
    assert coordinator.do(init()) == granted(7, MAX_EPOCH - 1)
    assert coordinator.do(init()) == granted(100, 0)


def test_a_producer_that_goes_on_gets_a_new_id_once_and_its_retry_the_same() -> None:
    coordinator = Coordinator()
    given(coordinator, producer_id=7, producer_epoch=MAX_EPOCH - 1)
    for _ in range(2):
        assert coordinator.do(init(producer_id=7, epoch=MAX_EPOCH - 1)) == granted(100, 0)
    assert coordinator.do(init(producer_id=100, epoch=0)) == granted(100, 1)
    assert coordinator.do(init(producer_id=7, epoch=MAX_EPOCH - 1)) == refused(FENCED)


def test_a_claim_to_an_earlier_epoch_of_the_former_id_is_fenced() -> None:
    coordinator = Coordinator()
    given(coordinator, producer_id=7, producer_epoch=MAX_EPOCH - 1)
    coordinator.do(init())
    assert coordinator.do(init(producer_id=7, epoch=MAX_EPOCH - 2)) == refused(FENCED)


def test_the_retry_of_the_last_epoch_needs_no_new_id() -> None:
    coordinator = Coordinator()
    given(coordinator, producer_epoch=MAX_EPOCH - 2)
    for _ in range(2):
        reply = coordinator.do(init(producer_id=100, epoch=MAX_EPOCH - 2))
        assert reply == granted(100, MAX_EPOCH - 1)


# While a transaction is open or being ended


def test_an_open_transaction_is_aborted_first_with_the_next_epoch() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    coordinator.do(add(100, 0, A0, A1), 10)

    decision = coordinator.shard.decide(init(), ticket=1, now_ms=20)

    assert decision == Decision(
        records=(
            TransactionRecord(
                key=TransactionLogKey(transactional_id="t"),
                key_version=0,
                value=TransactionLogValue(
                    producer_id=100,
                    previous_producer_id=100,
                    producer_epoch=1,
                    transaction_timeout_ms=60_000,
                    transaction_status=3,
                    transaction_partitions=[PartitionsSchema(topic="a", partition_ids=[0, 1])],
                    transaction_last_update_timestamp_ms=20,
                    transaction_start_timestamp_ms=10,
                    client_transaction_version=2,
                ),
                value_version=1,
                last_producer_epoch=0,
            ),
        ),
        reply=refused(ErrorCode.CONCURRENT_TRANSACTIONS),
        effects=(
            WriteMarkers(
                transactional_id="t",
                producer_id=100,
                producer_epoch=1,
                is_commit=False,
                partitions=(A0, A1),
                coordinator_epoch=0,
                transaction_version=2,
            ),
        ),
        standalone=True,
    )


def test_the_successor_comes_again_until_the_markers_are_written() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    coordinator.do(add(100, 0, A0))
    assert coordinator.do(init()) == refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert coordinator.do(init()) == refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    coordinator.do(markers_written(100, 1))
    assert coordinator.do(init()) == granted(100, 2)


def test_in_a_cluster_of_the_first_protocol_it_is_aborted_with_the_next_epoch_too() -> None:
    coordinator = Coordinator(TransactionSettings(transaction_version=1))
    coordinator.do(init())
    coordinator.do(add(100, 0, A0, client_version=0))
    coordinator.do(init())
    (markers,) = coordinator.effects
    assert (markers.producer_epoch, markers.transaction_version) == (1, 0)
    coordinator.do(markers_written(100, 1))
    assert coordinator.do(init(producer_id=100, epoch=0)) == refused(FENCED)
    assert coordinator.do(init()) == granted(100, 2)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_even_the_last_epoch_can_be_fenced(level: int) -> None:
    coordinator = Coordinator(TransactionSettings(transaction_version=level))
    given(coordinator, producer_id=7, producer_epoch=MAX_EPOCH - 1)
    coordinator.do(add(7, MAX_EPOCH - 1, A0, client_version=0))
    assert coordinator.do(init()) == refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    (markers,) = coordinator.effects
    assert (markers.producer_id, markers.producer_epoch) == (7, MAX_EPOCH)
    coordinator.do(markers_written(7, MAX_EPOCH))
    reply = coordinator.do(init())
    assert reply == granted(100, 1 if level == 2 else 0)
    assert coordinator.do(end(7, MAX_EPOCH - 1)).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(("producer_id", "epoch"), [(7, MAX_EPOCH - 1), (100, 0)])
def test_a_zombie_that_goes_on_does_not_abort_the_transaction_of_its_successor(
    producer_id: int, epoch: int
) -> None:
    coordinator = Coordinator()
    given(coordinator, producer_id=7, producer_epoch=MAX_EPOCH - 1)
    coordinator.do(init())
    coordinator.do(init())
    coordinator.do(add(100, 1, A0))
    assert coordinator.do(init(producer_id=producer_id, epoch=epoch)) == refused(FENCED)
    assert coordinator.shard.transactions["t"].state is TransactionState.ONGOING


def test_a_producer_that_goes_on_aborts_its_own_transaction() -> None:
    coordinator = Coordinator()
    coordinator.do(init())
    coordinator.do(add(100, 0, A0))
    again = init(producer_id=100, epoch=0)
    assert coordinator.do(again) == refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    coordinator.do(markers_written(100, 1))
    assert coordinator.do(again) == granted(100, 1)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_records_are_written_in_the_version_that_the_cluster_agreed_on(level: int) -> None:
    transaction = given(Coordinator())
    record = record_of(transaction, transaction_version=level)
    assert record.value_version == min(level, 1)

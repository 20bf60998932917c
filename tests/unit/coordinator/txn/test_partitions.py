"""AddPartitionsToTxn and AddOffsetsToTxn."""

from __future__ import annotations

import pytest
from transactions import (
    A0,
    A1,
    B0,
    V1,
    V2,
    Coordinator,
    add,
    add_offsets,
    end,
    init,
    markers_written,
)

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.runtime_types import Decision
from barnabas.coordinator.txn.machine import TopicPartition, TransactionState
from barnabas.coordinator.txn.records import TransactionRecord
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from barnabas.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

OK = ErrorCode.NONE


def started(epochs: int = 1) -> Coordinator:
    """Producer 100 with the given number of InitProducerIds behind it."""
    coordinator = Coordinator()
    for _ in range(epochs):
        coordinator.do(init())
    return coordinator


def test_the_first_partitions_open_the_transaction() -> None:
    decision = started().shard.decide(add(100, 0, B0, A1, A0), ticket=1, now_ms=9)

    assert decision == Decision(
        records=(
            TransactionRecord(
                key=TransactionLogKey(transactional_id="t"),
                key_version=0,
                value=TransactionLogValue(
                    producer_id=100,
                    previous_producer_id=100,
                    producer_epoch=0,
                    transaction_timeout_ms=60_000,
                    transaction_status=1,
                    transaction_partitions=[
                        PartitionsSchema(topic="a", partition_ids=[0, 1]),
                        PartitionsSchema(topic="b", partition_ids=[0]),
                    ],
                    transaction_last_update_timestamp_ms=9,
                    transaction_start_timestamp_ms=9,
                    client_transaction_version=2,
                ),
                value_version=1,
            ),
        ),
        reply={A0: OK, A1: OK, B0: OK},
        standalone=True,
    )


def test_later_partitions_join_it_and_it_began_when_it_began() -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0), 5)
    coordinator.do(add(100, 0, A1, B0), 8)
    transaction = coordinator.shard.transactions["t"]
    assert transaction.partitions == {A0, A1, B0}
    assert (transaction.started_ms, transaction.updated_ms) == (5, 8)


def test_what_is_in_it_already_writes_nothing() -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0, A1))
    decision = coordinator.shard.decide(add(100, 0, A1), ticket=1, now_ms=9)
    assert decision == Decision(reply={A1: OK})


def test_no_partitions_open_nothing() -> None:
    assert started().shard.decide(add(100, 0), ticket=1, now_ms=9) == Decision(reply={})


def test_the_next_transaction_starts_with_its_own_partitions_only() -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0), 5)
    coordinator.do(end(100, 0))
    coordinator.do(markers_written(100, 1))
    coordinator.do(add(100, 1, B0), 8)
    transaction = coordinator.shard.transactions["t"]
    assert transaction.partitions == {B0}
    assert transaction.started_ms == 8


@pytest.mark.parametrize("verify_only", [False, True])
@pytest.mark.parametrize(
    ("name", "producer_id", "epoch", "code"),
    [
        ("", 100, 1, ErrorCode.INVALID_REQUEST),
        ("unknown", 100, 1, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 99, 1, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 100, 0, ErrorCode.PRODUCER_FENCED),
        ("t", 100, 2, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_only_the_producer_itself_may_add_and_be_verified(
    name: str, producer_id: int, epoch: int, code: ErrorCode, verify_only: bool
) -> None:
    coordinator = started(epochs=2)
    event = add(producer_id, epoch, A0, A1, name=name, verify_only=verify_only)
    assert coordinator.do(event) == {A0: code, A1: code}


def test_while_a_transaction_is_being_ended_the_next_one_waits() -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0))
    coordinator.do(end(100, 0))
    waits = {A0: ErrorCode.CONCURRENT_TRANSACTIONS}
    assert coordinator.do(add(100, 1, A0)) == waits
    assert coordinator.do(add(100, 1, A0, verify_only=True)) == waits
    assert coordinator.do(add(12345, 0, A0)) == waits  # may be the next producer id


def test_verifying_tells_partitions_in_the_transaction_from_others() -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0, client_version=V1))
    decision = coordinator.shard.decide(add(100, 0, A0, A1, verify_only=True), ticket=1, now_ms=9)
    assert decision == Decision(reply={A0: OK, A1: ErrorCode.TRANSACTION_ABORTABLE})


@pytest.mark.parametrize("commit", [False, True])
def test_what_was_in_an_earlier_transaction_is_not_verified(commit: bool) -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0, client_version=V1))
    coordinator.do(end(100, 0, commit=commit, version=4))
    coordinator.do(markers_written(100, 0))
    reply = coordinator.do(add(100, 0, A0, verify_only=True))
    assert reply == {A0: ErrorCode.TRANSACTION_ABORTABLE}


@pytest.mark.parametrize("client_version", [V1, V2])
def test_the_version_of_the_client_is_written_down(client_version: int) -> None:
    coordinator = started()
    coordinator.do(add(100, 0, A0, client_version=client_version))
    assert coordinator.shard.transactions["t"].client_version == client_version


# Offsets


def test_offsets_add_the_partition_of_the_group() -> None:
    coordinator = started()
    assert coordinator.do(add_offsets(100, 0), 3) == AddOffsetsToTxnResponse()
    transaction = coordinator.shard.transactions["t"]
    assert transaction.state is TransactionState.ONGOING
    assert transaction.partitions == {TopicPartition("__consumer_offsets", 7)}
    decision = coordinator.shard.decide(add_offsets(100, 0), ticket=1, now_ms=9)
    assert decision == Decision(reply=AddOffsetsToTxnResponse())


@pytest.mark.parametrize("version", range(5))
def test_old_clients_know_fencing_as_an_invalid_epoch(version: int) -> None:
    expected = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    reply = started(epochs=2).do(add_offsets(100, 0, version=version))
    assert reply == AddOffsetsToTxnResponse(error_code=expected)

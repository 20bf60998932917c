from __future__ import annotations

from dataclasses import replace

from barnabas.cli.transactions_rows import (
    OpenTransaction,
    describe_json,
    describe_lines,
    hanging,
    hanging_json,
    hanging_lines,
    list_json,
    list_lines,
    long_open,
    producers_json,
    producers_lines,
)
from barnabas.client.transaction_admin import ProducerState, Transaction, TransactionListing

LISTING = TransactionListing(
    transactional_id="a-rather-long-id", coordinator=1, producer_id=5, state="Ongoing"
)
TRANSACTION = Transaction(
    transactional_id="x",
    coordinator=1,
    producer_id=5,
    producer_epoch=2,
    state="Ongoing",
    timeout_ms=60000,
    started_ms=1_000,
    places=[("t", 0), ("t", 1)],
)
PRODUCER = ProducerState(
    producer_id=5,
    producer_epoch=2,
    coordinator_epoch=-1,
    last_sequence=9,
    last_ms=60_000,
    open_since=17,
)


def cells(line: str) -> list[str]:
    assert line.endswith("\t")
    return [cell.rstrip() for cell in line.split("\t")[:-1]]


def test_cells_are_padded_and_end_with_a_tab() -> None:
    assert list_lines([LISTING]) == [
        "TransactionalId \tCoordinator\tProducerId\tTransactionState\t",
        "a-rather-long-id\t1          \t5         \tOngoing         \t",
    ]
    assert list_lines([]) == ["TransactionalId\tCoordinator\tProducerId\tTransactionState\t"]


def test_a_transaction_with_its_age() -> None:
    heading, row = describe_lines(TRANSACTION, now_ms=3_500)
    assert dict(zip(cells(heading), cells(row), strict=True)) == {
        "CoordinatorId": "1",
        "TransactionalId": "x",
        "ProducerId": "5",
        "ProducerEpoch": "2",
        "TransactionState": "Ongoing",
        "TransactionTimeoutMs": "60000",
        "CurrentTransactionStartTimeMs": "1000",
        "TransactionDurationMs": "2500",
        "TopicPartitions": "t-0,t-1",
    }
    _, row = describe_lines(replace(TRANSACTION, started_ms=None, places=[]), now_ms=3_500)
    assert cells(row)[-3:] == ["None", "None", ""]


def test_producers_of_a_partition() -> None:
    heading, busy, idle = producers_lines([PRODUCER, replace(PRODUCER, open_since=None)])
    assert dict(zip(cells(heading), cells(busy), strict=True)) == {
        "ProducerId": "5",
        "ProducerEpoch": "2",
        "LatestCoordinatorEpoch": "-1",
        "LastSequence": "9",
        "LastTimestamp": "60000",
        "CurrentTransactionStartOffset": "17",
    }
    assert cells(idle)[-1] == "None"


def test_a_transaction_is_long_open_by_the_silence_of_its_producer() -> None:
    done = replace(PRODUCER, open_since=None)
    producers = {("t", 1): [PRODUCER, done], ("t", 0): [replace(PRODUCER, last_ms=60_001)]}

    found = long_open(producers, now_ms=70_001, limit_ms=10_000)

    assert found == [OpenTransaction(place=("t", 1), producer=PRODUCER)]


def test_a_transaction_hangs_unless_its_coordinator_cares_for_the_partition() -> None:
    known = OpenTransaction(place=("t", 0), producer=PRODUCER)
    elsewhere = OpenTransaction(place=("u", 0), producer=PRODUCER)
    nobody = OpenTransaction(place=("t", 0), producer=replace(PRODUCER, producer_id=6))
    forgotten = OpenTransaction(place=("t", 0), producer=replace(PRODUCER, producer_id=7))

    found = hanging(
        [known, elsewhere, nobody, forgotten],
        {5: "x", 7: "y"},
        {"x": TRANSACTION, "y": None},
    )

    assert found == [elsewhere, nobody, forgotten]


def test_hanging_transactions_with_their_minutes() -> None:
    heading, row = hanging_lines([OpenTransaction(place=("t", 3), producer=PRODUCER)], 239_999)
    assert dict(zip(cells(heading), cells(row), strict=True)) == {
        "Topic": "t",
        "Partition": "3",
        "ProducerId": "5",
        "ProducerEpoch": "2",
        "CoordinatorEpoch": "-1",
        "StartOffset": "17",
        "LastTimestamp": "60000",
        "Duration(min)": "2",
    }


def test_json() -> None:
    assert list_json([LISTING]) == [
        {
            "transactional_id": "a-rather-long-id",
            "coordinator": 1,
            "producer_id": 5,
            "state": "Ongoing",
        }
    ]
    assert describe_json(TRANSACTION)["partitions"] == [
        {"topic": "t", "partition": 0},
        {"topic": "t", "partition": 1},
    ]
    (producer,) = producers_json([PRODUCER])
    assert (producer["last_timestamp"], producer["transaction_start_offset"]) == (60000, 17)
    (found,) = hanging_json([OpenTransaction(place=("t", 3), producer=PRODUCER)])
    assert (found["topic"], found["partition"], found["start_offset"]) == ("t", 3, 17)

"""DescribeTransactions and ListTransactions."""

from __future__ import annotations

import pytest
from transactions import A0, A1, B0, Coordinator, add, end, init, markers_written

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn import events as ev
from barnabas.coordinator.txn.listing import merged
from barnabas.protocol.messages.describe_transactions import TopicData
from barnabas.protocol.messages.describe_transactions import (
    TransactionState as DescribedTransaction,
)
from barnabas.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from barnabas.protocol.messages.list_transactions import (
    TransactionState as ListedTransaction,
)


def some() -> Coordinator:
    """`empty` (100), `open` since 1000 (101), `prepared` since 2000 (102), `done` (103)."""
    coordinator = Coordinator()
    for name in ("empty", "open", "prepared", "done"):
        coordinator.do(init(name), 500)
    coordinator.do(add(101, 0, B0, A1, A0, name="open"), 1_000)
    coordinator.do(add(102, 0, A0, name="prepared"), 2_000)
    coordinator.do(end(102, 0, name="prepared"), 2_100)
    coordinator.do(add(103, 0, A0, name="done"), 3_000)
    coordinator.do(end(103, 0, name="done", commit=False), 3_100)
    coordinator.do(markers_written(103, 1, "done"), 3_200)
    return coordinator


def describe(name: str) -> DescribedTransaction:
    reply = some().do(ev.DescribeTransaction(transactional_id=name))
    assert isinstance(reply, DescribedTransaction)
    return reply


def test_an_open_transaction_is_described_with_its_partitions() -> None:
    assert describe("open") == DescribedTransaction(
        transactional_id="open",
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=1_000,
        producer_id=101,
        producer_epoch=0,
        topics=[TopicData(topic="a", partitions=[0, 1]), TopicData(topic="b", partitions=[0])],
    )


def test_an_id_without_a_transaction_has_no_start() -> None:
    assert describe("empty") == DescribedTransaction(
        transactional_id="empty",
        transaction_state="Empty",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=-1,
        producer_id=100,
    )


def test_a_completed_transaction_is_described_by_its_outcome() -> None:
    assert describe("done").transaction_state == "CompleteAbort"
    assert describe("done").transaction_start_time_ms == 3_000


def test_what_cannot_be_described_says_why() -> None:
    for name, code in (
        ("nobody", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_REQUEST),
    ):
        assert describe(name) == DescribedTransaction(transactional_id=name, error_code=code)


def listed(pattern: str = "", now_ms: int = 4_000, **filters: object) -> set[str]:
    request = ListTransactionsRequest(**filters)
    reply = some().do(ev.ListTransactions(request=request, pattern=pattern), now_ms)
    assert reply.error_code == 0
    return {found.transactional_id for found in reply.transaction_states}


def test_without_filters_everything_is_listed() -> None:
    reply = some().do(ev.ListTransactions(request=ListTransactionsRequest()))
    assert sorted(
        (found.transactional_id, found.producer_id, found.transaction_state)
        for found in reply.transaction_states
    ) == [
        ("done", 103, "CompleteAbort"),
        ("empty", 100, "Empty"),
        ("open", 101, "Ongoing"),
        ("prepared", 102, "PrepareCommit"),
    ]


def test_by_state() -> None:
    assert listed(state_filters=["Ongoing", "PrepareCommit"]) == {"open", "prepared"}


def test_unknown_states_are_named_and_match_nothing() -> None:
    request = ListTransactionsRequest(state_filters=["Ongoing", "Open", "ongoing"])
    reply = some().do(ev.ListTransactions(request=request))
    assert reply.unknown_state_filters == ["Open", "ongoing"]
    assert listed(state_filters=["Open"]) == set()


def test_by_producer() -> None:
    assert listed(producer_id_filters=[101, 103, 999]) == {"open", "done"}


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [
        (-1, {"empty", "open", "prepared", "done"}),
        (0, {"empty", "open", "prepared", "done"}),
        (1_999, {"empty", "open", "prepared"}),
        (2_000, {"empty", "open"}),
        (2_999, {"empty", "open"}),
    ],
)
def test_by_duration_longer_ones_only(duration_ms: int, expected: set[str]) -> None:
    """An id without a transaction passes, as in Kafka: its start is the beginning of time."""
    assert listed(duration_filter=duration_ms) == expected


def test_by_pattern_of_the_whole_id() -> None:
    assert listed("o.*") == {"open"}
    assert listed("pen") == set()
    assert listed("(open|done)") == {"open", "done"}


def test_all_filters_must_pass() -> None:
    assert listed("open", state_filters=["Empty"]) == set()


def test_a_bad_pattern_is_refused() -> None:
    reply = some().do(ev.ListTransactions(request=ListTransactionsRequest(), pattern="("))
    assert reply == ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)


def test_the_answers_of_all_shards_are_put_together() -> None:
    first = ListedTransaction(transactional_id="a")
    second = ListedTransaction(transactional_id="b")
    parts = [
        ListTransactionsResponse(transaction_states=[first], unknown_state_filters=["x"]),
        ListTransactionsResponse(transaction_states=[second], unknown_state_filters=["x"]),
    ]
    assert merged(parts) == ListTransactionsResponse(
        transaction_states=[first, second], unknown_state_filters=["x"]
    )
    loading = ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert merged([*parts, loading]) == loading

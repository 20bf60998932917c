from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.client.errors import ClientError, RefusedError
from barnabas.client.transaction_admin import ProducerState, Transaction, TransactionAdmin
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import describe_producers as producers
from barnabas.protocol.messages import describe_transactions as described
from barnabas.protocol.messages import init_producer_id as init
from barnabas.protocol.messages import list_transactions as listed
from barnabas.protocol.messages import write_txn_markers as markers
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    return install(monkeypatch)


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[TransactionAdmin]:
    with TransactionAdmin.connect(PLAIN) as connected:
        connected.brokers.patience.sleep = lambda _: None
        yield connected
    assert cluster.open_connections == 0


def test_all_coordinators_are_asked_and_the_ids_sorted(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    def answer(
        broker: int, request: listed.ListTransactionsRequest
    ) -> listed.ListTransactionsResponse:
        states = [
            listed.TransactionState(
                transactional_id=name, producer_id=broker, transaction_state="Ongoing"
            )
            for name in (f"b{broker}", f"a{broker}")
        ]
        return listed.ListTransactionsResponse(transaction_states=states)

    cluster.respond[listed.ListTransactionsRequest] = answer
    found = admin.listings(producer_ids={5, 3}, longer_than_ms=7)

    assert [(each.transactional_id, each.coordinator) for each in found] == [
        ("a1", 1),
        ("a2", 2),
        ("b1", 1),
        ("b2", 2),
    ]
    for _, request in cluster.sent(listed.ListTransactionsRequest):
        assert request.producer_id_filters == [3, 5]
        assert request.duration_filter == 7


def test_a_broker_that_cannot_filter_by_duration_says_so(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    cluster.highest[ApiKey.LIST_TRANSACTIONS] = 0
    cluster.respond[listed.ListTransactionsRequest] = lambda broker, request: (
        listed.ListTransactionsResponse()
    )

    assert admin.listings() == []
    with pytest.raises(ClientError, match="broker 1 cannot choose transactions by their duration"):
        admin.listings(longer_than_ms=0)


def test_a_coordinator_that_loads_is_asked_again(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    codes = iter([14, 0, 0])
    cluster.respond[listed.ListTransactionsRequest] = lambda broker, request: (
        listed.ListTransactionsResponse(error_code=next(codes))
    )

    assert admin.listings() == []
    assert [b for b, _ in cluster.sent(listed.ListTransactionsRequest)] == [1, 1, 2]


def test_a_broker_that_has_just_died_is_asked_for_until_nobody_tells_of_it(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    cluster.respond[listed.ListTransactionsRequest] = lambda broker, request: (
        listed.ListTransactionsResponse()
    )
    told = iter([(1, 3), (1, 3), (1, 2)])
    cluster.respond[MetadataRequest] = lambda broker, request: MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=n, host="h", port=n) for n in next(told)]
    )
    admin.brokers.look()

    assert admin.listings() == []
    assert [b for b, _ in cluster.sent(listed.ListTransactionsRequest)] == [1, 1, 1, 2]


def test_a_transaction_is_described_by_its_coordinator(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    cluster.respond[described.DescribeTransactionsRequest] = lambda broker, request: (
        described.DescribeTransactionsResponse(
            transaction_states=[
                described.TransactionState(
                    transactional_id=request.transactional_ids[0],
                    transaction_state="Ongoing",
                    transaction_timeout_ms=60000,
                    transaction_start_time_ms=1000,
                    producer_id=4,
                    producer_epoch=2,
                    topics=[
                        described.TopicData(topic="u", partitions=[0]),
                        described.TopicData(topic="t", partitions=[1, 0]),
                    ],
                )
            ]
        )
    )

    assert admin.describe("x") == Transaction(
        transactional_id="x",
        coordinator=2,
        producer_id=4,
        producer_epoch=2,
        state="Ongoing",
        timeout_ms=60000,
        started_ms=1000,
        places=[("t", 0), ("t", 1), ("u", 0)],
    )


def test_an_id_without_a_transaction_has_no_start(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    cluster.respond[described.DescribeTransactionsRequest] = lambda broker, request: (
        described.DescribeTransactionsResponse(
            transaction_states=[described.TransactionState(transaction_start_time_ms=-1)]
        )
    )
    assert admin.describe("x").started_ms is None

    cluster.respond[described.DescribeTransactionsRequest] = lambda broker, request: (
        described.DescribeTransactionsResponse(
            transaction_states=[described.TransactionState(error_code=105)]
        )
    )
    with pytest.raises(RefusedError, match="There is no such transactional id"):
        admin.describe("x")


def remember(broker: int, request: producers.DescribeProducersRequest) -> object:
    state = producers.ProducerState(
        producer_id=broker,
        producer_epoch=3,
        last_sequence=9,
        last_timestamp=77,
        coordinator_epoch=-1,
        current_txn_start_offset=5 if broker == 1 else -1,
    )
    return producers.DescribeProducersResponse(
        topics=[
            producers.TopicResponse(
                name=topic.name,
                partitions=[
                    producers.PartitionResponse(partition_index=number, active_producers=[state])
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def test_producers_are_asked_of_leaders_or_of_one_replica(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    cluster.respond[producers.DescribeProducersRequest] = remember

    found = admin.producers([("t", 0), ("t", 1)])
    assert found["t", 0] == [
        ProducerState(
            producer_id=1,
            producer_epoch=3,
            coordinator_epoch=-1,
            last_sequence=9,
            last_ms=77,
            open_since=5,
        )
    ]
    assert [each.open_since for each in found["t", 1]] == [None]

    assert [each.producer_id for each in admin.producers([("t", 0)], broker_id=2)["t", 0]] == [2]


def test_partitions_that_are_not_there_are_named(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    with pytest.raises(RefusedError, match="topic t has no partition 9"):
        admin.producers([("t", 9)])
    cluster.leaders["t", 1] = -1
    admin.brokers.patience.seconds = 0
    with pytest.raises(RefusedError, match="the partition has no leader"):
        admin.producers([("t", 1)])


def test_a_leader_that_has_moved_is_looked_up_again(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    def answer(broker: int, request: markers.WriteTxnMarkersRequest) -> object:
        if broker == 1:
            cluster.leaders["t", 0] = 2
        partition = markers.WritableTxnMarkerPartitionResult(error_code=6 if broker == 1 else 0)
        topic = markers.WritableTxnMarkerTopicResult(name="t", partitions=[partition])
        return markers.WriteTxnMarkersResponse(
            markers=[markers.WritableTxnMarkerResult(producer_id=4, topics=[topic])]
        )

    cluster.respond[markers.WriteTxnMarkersRequest] = answer
    admin.abort(("t", 0), producer_id=4, producer_epoch=2, coordinator_epoch=1)

    sent = cluster.sent(markers.WriteTxnMarkersRequest)
    assert [broker for broker, _ in sent] == [1, 2]
    (marker,) = sent[1][1].markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (4, 2, 1)
    assert marker.transaction_result is False
    assert [(each.name, each.partition_indexes) for each in marker.topics] == [("t", [0])]


def test_terminating_takes_the_id_over_and_waits_for_what_is_ending(
    cluster: FakeCluster, admin: TransactionAdmin
) -> None:
    codes = iter([51, 0])
    cluster.respond[init.InitProducerIdRequest] = lambda broker, request: (
        init.InitProducerIdResponse(error_code=next(codes))
    )

    admin.terminate("x")

    sent = cluster.sent(init.InitProducerIdRequest)
    assert [(b, r.transactional_id, r.producer_id) for b, r in sent] == [(2, "x", -1)] * 2

"""Transactions of a cluster and the producers of its partitions: look at them, end what hangs.

librdkafka has no call for any of this: it goes through our own codec.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from barnabas.client.brokers import (
    TRANSACTION,
    OverBrokers,
    PartitionPlace,
    Place,
    by_topic,
    check_code,
)
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.wire import Connection
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import (
    describe_producers,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    write_txn_markers,
)

KEEPS_EPOCH = 4
"""The last version of EndTxn that leaves the producer's epoch as it is, so that it can be sent
again when its answer was lost.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing:
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    """None if none has been begun."""
    places: Collection[Place]
    """Partitions whose markers are still to be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """What a partition remembers of a producer."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """-1 if no coordinator has ended a transaction of it."""
    last_sequence: int
    last_ms: int
    open_since: int | None
    """Offset at which its open transaction begins."""


@dataclass(slots=True)
class TransactionAdmin(OverBrokers):
    """One thread; every call blocks until the brokers have answered, or raises `ClientError`.

    What is refused for a passing reason, such as a coordinator that is still loading, is tried
    again until the timeout.
    """

    def listings(
        self, *, producer_ids: Collection[int] = (), longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        """Transactional ids of all coordinators, by name; those of these producers, if any are
        given, and those whose transaction is older than this.
        """
        request = list_transactions.ListTransactionsRequest(
            producer_id_filters=sorted(producer_ids), duration_filter=longer_than_ms
        )
        found = self.brokers.patience.until_settled(partial(self._list_all, request))
        return sorted(found, key=lambda each: (each.transactional_id, each.coordinator))

    def _list_all(
        self, request: list_transactions.ListTransactionsRequest
    ) -> list[TransactionListing]:
        """A broker that has just died may be known for a moment; others have what it had then."""
        settled = self.brokers.patience.until_settled
        try:
            return [
                listing
                for broker_id in self.brokers.ids()
                for listing in settled(partial(self._list, broker_id, request))
            ]
        except NotReachableError as error:
            self.brokers.look()
            raise RefusedError("COORDINATOR_NOT_AVAILABLE", str(error)) from None

    def _list(
        self, broker_id: int, request: list_transactions.ListTransactionsRequest
    ) -> list[TransactionListing]:
        connection = self.brokers.to(broker_id)
        if request.duration_filter >= 0 and not connection.version_of(ApiKey.LIST_TRANSACTIONS):
            raise ClientError(f"broker {broker_id} cannot choose transactions by their duration")
        answer = connection.call(request, list_transactions.ListTransactionsResponse)
        check_code(answer.error_code)
        return [
            TransactionListing(
                transactional_id=each.transactional_id,
                coordinator=broker_id,
                producer_id=each.producer_id,
                state=each.transaction_state,
            )
            for each in answer.transaction_states
        ]

    def describe(self, transactional_id: str) -> Transaction:
        return self.brokers.ask_coordinator(
            transactional_id,
            TRANSACTION,
            lambda broker_id, connection: _describe(broker_id, connection, transactional_id),
        )

    def places(self, topics: Iterable[str] | None) -> dict[Place, PartitionPlace]:
        """All partitions of these topics, or of every topic, and where they are."""
        return self.brokers.places(topics)

    def producers(
        self, places: Collection[Place], *, broker_id: int | None = None
    ) -> dict[Place, list[ProducerState]]:
        """What the leaders of partitions, or one broker, remember of their producers."""

        def attempt() -> dict[Place, list[ProducerState]]:
            if broker_id is not None:
                return _producers(self.brokers.to(broker_id), places)
            found: dict[Place, list[ProducerState]] = {}
            for leader, led in self._by_leader(places).items():
                found |= _producers(self.brokers.to(leader), led)
            return found

        return self.brokers.patience.until_settled(attempt)

    def abort(
        self, place: Place, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        """Has a partition's leader write the marker that no coordinator will write any more."""
        topic, number = place
        marker = write_txn_markers.WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            coordinator_epoch=coordinator_epoch,
            topics=[
                write_txn_markers.WritableTxnMarkerTopic(name=topic, partition_indexes=[number])
            ],
        )

        def attempt() -> None:
            (leader,) = self._by_leader([place])
            answer = self.brokers.to(leader).call(
                write_txn_markers.WriteTxnMarkersRequest(markers=[marker]),
                write_txn_markers.WriteTxnMarkersResponse,
            )
            for written in answer.markers:
                for each in written.topics:
                    for partition in each.partitions:
                        check_code(partition.error_code)

        self.brokers.patience.until_settled(attempt)

    def end(
        self, transactional_id: str, *, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> None:
        """Commits or aborts what a producer, which may be gone, has left open under that epoch."""
        request = end_txn.EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            committed=is_commit,
        )

        def ask(broker_id: int, connection: Connection) -> None:
            answer = connection.call(request, end_txn.EndTxnResponse, at_most=KEEPS_EPOCH)
            check_code(answer.error_code)

        self.brokers.ask_coordinator(transactional_id, TRANSACTION, ask)

    def terminate(self, transactional_id: str) -> None:
        """Ends whatever is open under a transactional id, and fences its producer."""
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=int(self.brokers.patience.seconds * 1000),
        )

        def ask(broker_id: int, connection: Connection) -> None:
            answer = connection.call(request, init_producer_id.InitProducerIdResponse)
            check_code(answer.error_code)

        self.brokers.ask_coordinator(transactional_id, TRANSACTION, ask)

    def _by_leader(self, places: Collection[Place]) -> dict[int, list[Place]]:
        known = self.brokers.places(topic for topic, _ in places)
        led: dict[int, list[Place]] = {}
        for place in sorted(set(places)):
            if place not in known:
                topic, number = place
                raise RefusedError(
                    "UNKNOWN_TOPIC_OR_PARTITION", f"topic {topic} has no partition {number}."
                )
            leader = known[place].leader
            if leader is None:
                raise RefusedError("LEADER_NOT_AVAILABLE", "the partition has no leader.")
            led.setdefault(leader, []).append(place)
        return led


def _describe(broker_id: int, connection: Connection, transactional_id: str) -> Transaction:
    answer = connection.call(
        describe_transactions.DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        describe_transactions.DescribeTransactionsResponse,
    )
    (found,) = answer.transaction_states
    check_code(found.error_code)
    return Transaction(
        transactional_id=transactional_id,
        coordinator=broker_id,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        state=found.transaction_state,
        timeout_ms=found.transaction_timeout_ms,
        started_ms=found.transaction_start_time_ms
        if found.transaction_start_time_ms >= 0
        else None,
        places=sorted(
            (topic.topic, number) for topic in found.topics for number in topic.partitions
        ),
    )


def _producers(
    connection: Connection, places: Collection[Place]
) -> dict[Place, list[ProducerState]]:
    answer = connection.call(
        describe_producers.DescribeProducersRequest(
            topics=[
                describe_producers.TopicRequest(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(places).items()
            ]
        ),
        describe_producers.DescribeProducersResponse,
    )
    found = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            check_code(partition.error_code, partition.error_message)
            found[topic.name, partition.partition_index] = [
                _producer(each) for each in partition.active_producers
            ]
    return found


def _producer(told: describe_producers.ProducerState) -> ProducerState:
    start = told.current_txn_start_offset
    return ProducerState(
        producer_id=told.producer_id,
        producer_epoch=told.producer_epoch,
        coordinator_epoch=told.coordinator_epoch,
        last_sequence=told.last_sequence,
        last_ms=told.last_timestamp,
        open_since=start if start >= 0 else None,
    )

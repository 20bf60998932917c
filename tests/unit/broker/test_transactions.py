"""The transaction coordinator between logs and metadata: markers until all are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_broker import NODE_ID, SmallBroker
from storage_logs import batch

from barnabas.base.errors import ErrorCode
from barnabas.broker.groups import Groups
from barnabas.broker.transactions import TRANSACTIONS_TOPIC, Transactions
from barnabas.coordinator.runtime_types import Producer
from barnabas.coordinator.txn import events as ev
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import TopicPartition
from barnabas.coordinator.txn.verification import UNGUARDED, Operation
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

NAME = "id"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOBODY = -1
OTHER = 2


class Timer:
    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self._at, self.call, self.is_cancelled = at, call, False

    def when(self) -> float:
        return self._at

    def cancel(self) -> None:
        self.is_cancelled = True


class HandLoop:
    """Timers that run when the test says that time has passed."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._timers: list[Timer] = []

    def call_soon(self, call: Callable[..., None], *args: Any) -> Timer:
        return self.call_later(0, call, *args)

    def call_later(self, delay: float, call: Callable[..., None], *args: Any) -> Timer:
        return self.call_at(self._clock.mono + delay, call, *args)

    def call_at(self, at: float, call: Callable[..., None], *args: Any) -> Timer:
        self._timers.append(Timer(at, lambda: call(*args)))
        return self._timers[-1]

    def advance(self, seconds: float) -> None:
        self._clock.mono += seconds
        while due := [t for t in self._timers if t.when() <= self._clock.mono]:
            self._timers = [t for t in self._timers if t not in due]
            for timer in due:
                if not timer.is_cancelled:
                    timer.call()


class World(SmallBroker):
    """A broker that is in charge of everything."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.hand_loop = HandLoop(self.clock)
        self.replay(mr.FeatureLevelRecord(name="transaction.version", feature_level=2))
        self.replay(mr.RegisterBrokerRecord(broker_id=NODE_ID, broker_epoch=1))
        self.controller.answers = [
            AllocateProducerIdsResponse(producer_id_start=500, producer_id_len=1000)
        ]
        self.topic_id = self.topic("t", 2)
        self.topic(TRANSACTIONS_TOPIC)
        self.take_over()

    def take_over(self) -> None:
        """A coordinator that knows nothing but what is in the logs."""
        loop: Any = self.hand_loop
        self.broker.groups = Groups(self.broker, loop, schedule_turn=lambda: None)
        self.broker.transactions = Transactions(self.broker, loop, schedule_turn=lambda: None)
        self.broker.transactions.load_all()
        self.turn()

    def turn(self, seconds: float = 0.0) -> None:
        self.hand_loop.advance(seconds)
        self.replicas.write_dirty()

    def ask(self, event: Any) -> Any:
        replies: list[Any] = []
        self.broker.transactions.schedule(NAME, event, replies.append)
        self.turn()
        (reply,) = replies
        return reply

    def begin(self, *partitions: TopicPartition) -> Producer:
        """A producer whose transaction has a record in each of the partitions."""
        ids: list[None] = []
        self.broker.producer_ids.fill(self.broker, lambda: ids.append(None))
        assert ids, "the controller has answered"
        request = InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000)
        answer = self.ask(ev.InitProducerId(request=request, version=5))
        assert answer.error_code == 0
        producer = Producer(answer.producer_id, answer.producer_epoch)
        log = self.partition(TRANSACTIONS_TOPIC).leader_log()
        self.bytes_before_joining = log.segments.active.size_bytes
        joined = self.ask(
            ev.AddPartitions(
                transactional_id=NAME,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                partitions=frozenset(partitions),
                client_version=2,
            )
        )
        assert not any(joined.values())
        for where in partitions:
            data = batch(
                b"v",
                producer_id=producer.producer_id,
                epoch=producer.producer_epoch,
                sequence=0,
                transactional=True,
            )
            self.replicas.append(self.partition(*where), data, acks=-1, now_ms=self.clock.now_ms())
        self.turn()
        return producer

    def end(self, producer: Producer) -> ErrorCode:
        request = EndTxnRequest(
            transactional_id=NAME,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=True,
        )
        return ErrorCode(self.ask(ev.EndTxn(request=request, version=5)).error_code)

    def state(self) -> str:
        answer = self.ask(ev.DescribeTransaction(transactional_id=NAME))
        found: str = answer.transaction_state
        return found

    def stable(self, where: TopicPartition) -> int:
        log = self.partition(*where).log
        assert log is not None
        return log.last_stable_offset

    def lead(self, where: TopicPartition, leader: int) -> None:
        self.change(self.topic_id, where.partition, leader=leader)

    def move(self, topic_id: bytes, index: int) -> None:
        """Another broker leads that partition from now on, and this one follows."""
        both = [NODE_ID, OTHER]
        self.change(
            topic_id,
            index,
            replicas=both,
            isr=both,
            directories=[bytes(16)] * 2,
            leader=OTHER,
        )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.broker.transactions.stop()
    made.close()


def test_a_commit_puts_a_marker_into_each_partition_in_one_turn(world: World) -> None:
    producer = world.begin(T0, T1)
    assert [world.stable(T0), world.stable(T1)] == [0, 0]

    assert world.end(producer) is ErrorCode.NONE

    assert world.state() == "CompleteCommit"
    assert [world.stable(T0), world.stable(T1)] == [2, 2]
    assert len(world.broker.transactions.markers) == 0


def test_a_partition_without_a_leader_gets_its_marker_when_it_has_one(world: World) -> None:
    producer = world.begin(T0, T1)
    world.lead(T1, NOBODY)
    assert world.end(producer) is ErrorCode.NONE
    world.turn(seconds=1)
    assert world.state() == "PrepareCommit"
    assert world.stable(T0) == 2

    world.lead(T1, NODE_ID)
    world.turn(seconds=1)

    assert world.state() == "CompleteCommit"
    assert [world.stable(T0), world.stable(T1)] == [2, 2]


def test_a_disk_that_refuses_the_marker_is_tried_again(world: World) -> None:
    producer = world.begin(T0)
    log = world.partition(TRANSACTIONS_TOPIC).log
    assert log is not None
    last_batch_bytes = log.segments.active.size_bytes - world.bytes_before_joining
    world.disk.room = last_batch_bytes + 40  # the outcome fits, the marker does not
    assert world.end(producer) is ErrorCode.NONE
    world.disk.room = 0
    world.turn(seconds=1)
    assert world.stable(T0) == 0
    assert world.state() == "PrepareCommit"

    world.disk.room = None
    world.turn(seconds=1)

    assert world.state() == "CompleteCommit"
    assert world.stable(T0) == 2


def test_the_next_coordinator_finishes_what_was_prepared(world: World) -> None:
    producer = world.begin(T0, T1)
    world.lead(T1, NOBODY)
    assert world.end(producer) is ErrorCode.NONE
    world.broker.transactions.stop()
    world.lead(T1, NODE_ID)

    world.take_over()
    world.turn(seconds=1)

    assert world.state() == "CompleteCommit"
    assert world.stable(T1) == 2


def test_markers_of_a_deleted_topic_are_not_waited_for(world: World) -> None:
    producer = world.begin(T0, T1)
    world.delete(world.topic_id)

    assert world.end(producer) is ErrorCode.NONE

    assert world.state() == "CompleteCommit"


def test_markers_are_left_to_whoever_leads_the_transaction_log_next(world: World) -> None:
    producer = world.begin(T0)
    world.lead(T0, NOBODY)
    assert world.end(producer) is ErrorCode.NONE
    assert len(world.broker.transactions.markers) == 1
    world.broker.transactions._drop(0)

    world.turn(seconds=1)

    assert len(world.broker.transactions.markers) == 0


def test_a_marker_takes_away_the_guard_of_a_question(world: World) -> None:
    producer = world.begin(T0, T1)
    verifying = world.broker.transactions.verifying
    log = world.partition("t", 0).leader_log()
    later = Producer(producer.producer_id, producer.producer_epoch + 1)
    guard = verifying.begin(T0, log, later, 0, Operation.VERIFY)
    assert guard != UNGUARDED
    assert verifying.may_append(T0, log, later, 0, guard) is ErrorCode.NONE

    assert world.end(producer) is ErrorCode.NONE

    assert verifying.may_append(T0, log, later, 0, guard) is ErrorCode.INVALID_TXN_STATE


def test_an_open_transaction_needs_no_question(world: World) -> None:
    producer = world.begin(T0)
    log = world.partition("t", 0).leader_log()

    guard = world.broker.transactions.verifying.begin(T0, log, producer, 1, Operation.ADD)

    assert guard == UNGUARDED


def test_questions_nobody_comes_back_for_are_forgotten(world: World) -> None:
    verifying = world.broker.transactions.verifying
    log = world.partition("t", 0).leader_log()
    guard = verifying.begin(T0, log, Producer(9, 0), 0, Operation.VERIFY)
    expiration = world.config.int("producer.id.expiration.ms")

    world.broker.transactions.forget_old(world.clock.now_ms() + expiration)

    assert verifying.may_append(T0, log, Producer(9, 0), 0, guard) is ErrorCode.INVALID_TXN_STATE


# -- other brokers


class Elsewhere:
    """Connections to other brokers: keeps what is sent until the test answers."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Message, Callable[[Message | None], None]]] = []

    def send(
        self,
        node_id: int,
        request: Message,
        done: Callable[[Message | None], None],
        *,
        timeout_s: float,
    ) -> None:
        assert timeout_s > 0
        self.sent.append((node_id, request, done))

    def answer(self, response: Message | None) -> Any:
        node_id, request, done = self.sent.pop(0)
        assert node_id == OTHER
        done(response)
        return request


@pytest.fixture
def elsewhere(world: World) -> Elsewhere:
    made = Elsewhere()
    world.broker.connections = made  # type: ignore[assignment]
    return made


def marked(producer_id: int, code: ErrorCode = ErrorCode.NONE) -> WriteTxnMarkersResponse:
    """The other broker's answer for partition 1."""
    result = WritableTxnMarkerPartitionResult(partition_index=1, error_code=code)
    topic = WritableTxnMarkerTopicResult(name="t", partitions=[result])
    return WriteTxnMarkersResponse(
        markers=[WritableTxnMarkerResult(producer_id=producer_id, topics=[topic])]
    )


def test_a_marker_for_a_partition_elsewhere_is_sent_to_its_leader(
    world: World, elsewhere: Elsewhere
) -> None:
    producer = world.begin(T0, T1)
    world.move(world.topic_id, 1)
    assert world.end(producer) is ErrorCode.NONE
    world.turn()
    assert world.state() == "PrepareCommit"

    request = elsewhere.answer(marked(producer.producer_id))
    world.turn()

    (marker,) = request.markers
    assert marker.producer_id == producer.producer_id
    assert marker.producer_epoch == producer.producer_epoch + 1
    assert marker.transaction_result
    assert [(t.name, t.partition_indexes) for t in marker.topics] == [("t", [1])]
    assert world.state() == "CompleteCommit"
    assert world.stable(T0) == 2
    assert elsewhere.sent == []


@pytest.mark.parametrize("code", [None, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_leader_that_did_not_write_the_marker_is_asked_again(
    world: World, elsewhere: Elsewhere, code: ErrorCode | None
) -> None:
    producer = world.begin(T1)
    world.move(world.topic_id, 1)
    assert world.end(producer) is ErrorCode.NONE
    world.turn()
    elsewhere.answer(None if code is None else marked(producer.producer_id, code))
    world.turn()
    assert elsewhere.sent == []

    world.turn(seconds=1)
    world.turn()
    elsewhere.answer(marked(producer.producer_id))
    world.turn()

    assert world.state() == "CompleteCommit"


def test_markers_of_one_turn_go_to_a_leader_together(world: World, elsewhere: Elsewhere) -> None:
    markers = world.broker.transactions.markers
    world.move(world.topic_id, 1)
    for number in (7, 8):
        markers.begin(
            WriteMarkers(
                transactional_id=f"id-{number}",
                producer_id=number,
                producer_epoch=0,
                is_commit=False,
                partitions=(T1,),
                coordinator_epoch=0,
                transaction_version=2,
            )
        )
    world.turn()

    ((_, request, _),) = elsewhere.sent

    assert isinstance(request, WriteTxnMarkersRequest)
    assert [marker.producer_id for marker in request.markers] == [7, 8]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (None, ErrorCode.NETWORK_EXCEPTION),
        (AddPartitionsToTxnResponse(error_code=16), ErrorCode.NOT_COORDINATOR),
        (
            AddPartitionsToTxnResponse(
                results_by_transaction=[
                    AddPartitionsToTxnResult(
                        transactional_id=NAME,
                        topic_results=[
                            AddPartitionsToTxnTopicResult(
                                name="t",
                                results_by_partition=[
                                    AddPartitionsToTxnPartitionResult(partition_index=0)
                                ],
                            )
                        ],
                    )
                ]
            ),
            ErrorCode.NONE,
        ),
    ],
)
def test_a_coordinator_elsewhere_is_asked_before_a_batch_is_appended(
    world: World, elsewhere: Elsewhere, response: Message | None, expected: ErrorCode
) -> None:
    topic = world.image.topics[TRANSACTIONS_TOPIC]
    world.move(topic.id, 0)
    answers: list[Any] = []

    world.broker.transactions.verifying.ask(
        NAME, Producer(9, 3), frozenset({T0}), Operation.VERIFY, answers.append
    )
    request = elsewhere.answer(response)

    (asked,) = request.transactions
    assert (asked.transactional_id, asked.producer_id, asked.producer_epoch) == (NAME, 9, 3)
    assert asked.verify_only
    assert answers == [{T0: expected}]

"""Changes of in-sync sets: what the controller is asked, and what its answers mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_broker import NODE_ID, SmallBroker
from wired_broker import HandLoop, Timer

from barnabas.base.errors import ErrorCode
from barnabas.broker.isr import IsrChanges
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    RequestPartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.replication import leading

OTHER, THIRD = 2, 3
EPOCHS = {NODE_ID: 11, OTHER: 12, THIRD: 13}


class LaterLoop(HandLoop):
    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        return self.call_at(self.time() + delay, call)


class World(SmallBroker):
    """Leads two partitions; broker 3 is not in sync, broker 2 is."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.broker.epoch = EPOCHS[NODE_ID]
        self.loop = LaterLoop(self.clock)
        self.isr = IsrChanges(self.broker, self.loop)  # type: ignore[arg-type]
        self.replicas.on_isr_wanted = self.isr.want
        self.asked: list[tuple[AlterPartitionRequest, Callable[[Message], None]]] = []
        self.controller.submit = self._submit  # type: ignore[method-assign]
        self.replay(
            *(
                mr.RegisterBrokerRecord(
                    broker_id=node_id, broker_epoch=epoch, incarnation_id=bytes(16), fenced=False
                )
                for node_id, epoch in EPOCHS.items()
            )
        )
        self.topic_id = self.topic(
            "t", 2, replicas=(NODE_ID, OTHER, THIRD), isr=(NODE_ID, OTHER), leader_epoch=4
        )

    def _submit(self, request: Message, done: Callable[[Message], None]) -> None:
        assert isinstance(request, AlterPartitionRequest)
        self.asked.append((request, done))

    def caught_up(self, node_id: int = THIRD, index: int = 0) -> None:
        leading.follower_fetched(
            self.replicas,
            self.partition("t", index),
            node_id,
            offset=0,
            start_offset=0,
            broker_epoch=EPOCHS[node_id],
            now=self.clock.mono,
        )

    def answer(self, *results: ResponsePartitionData, error: ErrorCode = ErrorCode.NONE) -> None:
        """The oldest request that is not answered yet."""
        _, done = self.asked.pop(0)
        topics = [ResponseTopicData(topic_id=self.topic_id, partitions=list(results))]
        done(AlterPartitionResponse(error_code=int(error), topics=topics))
        self.loop.run()

    def pending(self, index: int = 0) -> tuple[int, ...] | None:
        followers = self.partition("t", index).followers
        assert followers is not None
        return followers.pending_isr


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def result(index: int = 0, code: ErrorCode = ErrorCode.NONE, **fields: Any) -> Any:
    return ResponsePartitionData(partition_index=index, error_code=int(code), **fields)


def wanted(request: AlterPartitionRequest) -> dict[int, RequestPartitionData]:
    return {data.partition_index: data for topic in request.topics for data in topic.partitions}


def test_what_comes_up_in_one_turn_is_asked_in_one_request(world: World) -> None:
    world.caught_up(index=0)
    world.caught_up(index=1)
    assert world.asked == []

    world.loop.run()

    ((request, _),) = world.asked
    assert (request.broker_id, request.broker_epoch) == (NODE_ID, EPOCHS[NODE_ID])
    assert set(wanted(request)) == {0, 1}
    data = wanted(request)[0]
    assert (data.leader_epoch, data.partition_epoch) == (4, 0)
    isr = {state.broker_id: state.broker_epoch for state in data.new_isr_with_epochs}
    assert isr == {NODE_ID: EPOCHS[NODE_ID], OTHER: -1, THIRD: EPOCHS[THIRD]}


def test_a_change_that_was_made_is_over_when_the_metadata_says_so(world: World) -> None:
    world.caught_up()
    world.loop.run()
    world.answer(result(partition_epoch=1))
    assert world.pending() == (NODE_ID, OTHER, THIRD)

    world.change(world.topic_id, isr=[NODE_ID, OTHER, THIRD])

    assert world.pending() is None
    assert world.partition("t").isr == (NODE_ID, OTHER, THIRD)


def test_metadata_may_come_before_the_answer(world: World) -> None:
    world.caught_up()
    world.loop.run()
    world.change(world.topic_id, isr=[NODE_ID, OTHER, THIRD])
    world.answer(result(partition_epoch=1))

    assert world.partition("t").isr == (NODE_ID, OTHER, THIRD)
    assert world.asked == []


def test_where_nothing_was_to_be_changed_nothing_is_waited_for(world: World) -> None:
    world.caught_up()
    world.loop.run()

    world.answer(result(partition_epoch=0))

    assert world.pending() is None


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.INVALID_REQUEST])
def test_a_change_that_is_refused_is_given_up(world: World, code: ErrorCode) -> None:
    world.caught_up()
    world.loop.run()

    world.answer(result(code=code))

    assert world.pending() is None
    assert world.asked == []


@pytest.mark.parametrize("code", [ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH])
def test_a_change_that_is_outdated_waits_for_the_metadata(world: World, code: ErrorCode) -> None:
    world.caught_up()
    world.loop.run()

    world.answer(result(code=code))
    world.loop.advance(10.0)

    assert world.pending() == (NODE_ID, OTHER, THIRD)  # it may have been made after all
    assert world.asked == []


@pytest.mark.parametrize("whole", [True, False], ids=["the request", "the partition"])
def test_what_could_not_be_done_now_is_asked_again_after_a_while(world: World, whole: bool) -> None:
    world.caught_up()
    world.loop.run()
    for _ in range(3):
        if whole:
            world.answer(error=ErrorCode.REQUEST_TIMED_OUT)
        else:
            world.answer(result(code=ErrorCode.UNKNOWN_SERVER_ERROR))
        assert world.asked == []
        world.loop.advance(1.0)
        ((request, _),) = world.asked
        assert set(wanted(request)) == {0}


def test_one_request_is_under_way_and_the_rest_follows(world: World) -> None:
    world.caught_up(index=0)
    world.loop.run()
    world.caught_up(index=1)
    world.loop.run()
    assert len(world.asked) == 1

    world.answer(result(partition_epoch=1))

    ((request, _),) = world.asked
    assert set(wanted(request)) == {1}


def test_what_is_answered_after_the_leader_changed_means_nothing(world: World) -> None:
    world.caught_up()
    world.loop.run()
    world.change(world.topic_id, leader=NODE_ID)  # elected again, in another epoch
    world.caught_up()

    world.answer(result(code=ErrorCode.INELIGIBLE_REPLICA))

    assert world.pending() == (NODE_ID, OTHER, THIRD)
    ((request, _),) = world.asked
    assert wanted(request)[0].leader_epoch == 5


def test_one_that_lags_is_asked_out_and_counts_until_that_is_done(world: World) -> None:
    world.append("t", b"x")
    world.replicas.write_dirty()
    world.clock.mono += 31
    leading.check_lag(world.replicas, world.clock.mono)
    world.loop.run()

    ((request, _),) = world.asked
    states = wanted(request)[0].new_isr_with_epochs
    assert [state.broker_id for state in states] == [NODE_ID]
    assert world.partition("t").leader_log().high_watermark == 0
    world.change(world.topic_id, isr=[NODE_ID])
    assert world.partition("t").leader_log().high_watermark == 1

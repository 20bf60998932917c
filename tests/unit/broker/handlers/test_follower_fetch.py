"""Fetches of followers: when they are answered, with what, and what the leader learns from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_broker import LISTENER, NODE_ID, SmallBroker

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.handlers.k01_fetch import fetch
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)

OTHER, THIRD = 2, 3
VERSION = 17


class Asking:
    """A follower with a session of its own."""

    def __init__(self, world: SmallBroker, node_id: int, topic_id: bytes) -> None:
        self.world = world
        self.node_id = node_id
        self.topic_id = topic_id
        self.session = (0, 0)

    def ask(self, *positions: tuple[int, int], **fields: Any) -> list[FetchResponse]:
        """Fetch partitions from offsets; the answers, none while it waits."""
        partitions = [
            FetchPartition(
                partition=index,
                fetch_offset=offset,
                partition_max_bytes=1 << 20,
                current_leader_epoch=0,
                last_fetched_epoch=0 if offset else -1,
                log_start_offset=0,
            )
            for index, offset in positions
        ]
        session_id, epoch = self.session
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=self.node_id, replica_epoch=self.node_id),
            max_wait_ms=500,
            min_bytes=1,
            session_id=session_id,
            session_epoch=epoch,
            topics=[FetchTopic(topic_id=self.topic_id, partitions=partitions)]
            if partitions
            else [],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        answers: list[Any] = []
        answer = fetch(self.world.broker, _context(), request)
        if isinstance(answer, Later):
            answer.when_done(answers.append)
        else:
            answers.append(answer)
        if not fields:
            self.session = (answers[0].session_id if answers else session_id, epoch + 1)
        return answers

    def nudge(self) -> list[FetchResponse]:
        return self.ask(session_id=0, session_epoch=-1, max_wait_ms=0)


def _context() -> RequestContext:
    return RequestContext(
        api_key=ApiKey.FETCH,
        api_version=VERSION,
        correlation_id=1,
        client_id="broker",
        listener=LISTENER,
        peer_host="127.0.0.1",
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    made.replay(
        *(
            mr.RegisterBrokerRecord(
                broker_id=node_id, broker_epoch=node_id, incarnation_id=bytes(16), fenced=False
            )
            for node_id in (NODE_ID, OTHER, THIRD)
        )
    )
    made.topic("t", 3, replicas=(NODE_ID, OTHER, THIRD))
    yield made
    made.close()


@pytest.fixture
def other(world: SmallBroker) -> Asking:
    return Asking(world, OTHER, world.partition("t").topic_id)


@pytest.fixture
def third(world: SmallBroker) -> Asking:
    return Asking(world, THIRD, world.partition("t").topic_id)


def append(world: SmallBroker, index: int = 0, value: bytes = b"v") -> None:
    world.append("t", value, index=index)
    world.replicas.write_dirty()


def parts(answers: list[FetchResponse]) -> list[PartitionData]:
    (answer,) = answers
    return [data for topic in answer.responses for data in topic.partitions]


def test_a_follower_gets_what_no_consumer_may_see_yet(world: SmallBroker, other: Asking) -> None:
    append(world)

    (data,) = parts(other.ask((0, 0)))

    assert len(data.records or b"") > 0
    assert data.high_watermark == 0


def test_it_waits_until_a_log_grows_and_is_told_of_that_one_only(
    world: SmallBroker, other: Asking
) -> None:
    other.ask((0, 0), (1, 0), (2, 0))
    waiting = other.ask()
    assert waiting == []

    append(world, 1)

    assert [data.partition_index for data in parts(waiting)] == [1]


def test_it_does_not_wait_longer_than_it_wants(world: SmallBroker, other: Asking) -> None:
    other.ask((0, 0))
    waiting = other.ask()

    world.replicas.expire(world.clock.mono + 0.5)

    assert parts(waiting) == []


def test_a_second_fetch_makes_the_first_be_answered(world: SmallBroker, other: Asking) -> None:
    other.ask((0, 0))
    waiting = other.ask()

    assert parts(other.nudge()) == []

    assert parts(waiting) == []
    append(world)
    assert len(parts(other.ask())) == 1  # the session goes on


def test_another_followers_fetch_does_not(other: Asking, third: Asking) -> None:
    other.ask((0, 0))
    waiting = other.ask()

    third.nudge()

    assert waiting == []


def test_a_new_watermark_alone_is_told_with_the_next_answer(
    world: SmallBroker, other: Asking, third: Asking
) -> None:
    append(world)
    other.ask((0, 0))
    third.ask((0, 0))
    waiting = other.ask((0, 1))
    assert waiting == []

    waiting_too = third.ask((0, 1))

    assert (waiting, waiting_too) == ([], [])
    append(world)
    for answers in (waiting, waiting_too):
        (data,) = parts(answers)
        assert data.high_watermark == 1


def test_where_consumers_read_from_followers_they_are_told_at_once(
    world: SmallBroker, other: Asking, third: Asking
) -> None:
    world.replicas.tells_watermarks = True
    append(world)
    other.ask((0, 0))
    third.ask((0, 0))
    waiting = other.ask((0, 1))
    third.ask((0, 1))

    (data,) = parts(waiting)
    assert data.high_watermark == 1


def test_an_idle_follower_stays_in_sync_by_asking(world: SmallBroker, other: Asking) -> None:
    other.ask((0, 0))
    for _ in range(10):
        world.clock.mono += 20
        other.ask()

    followers = world.partition("t").followers
    assert followers is not None
    append(world)
    assert followers.lagging(1, world.clock.mono + 29) == (THIRD,)


def test_one_whose_history_differs_has_caught_up_with_nothing(
    world: SmallBroker, other: Asking
) -> None:
    append(world)
    append(world)

    (data,) = parts(other.ask((0, 3)))  # beyond our end, in our epoch

    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (0, 2)
    followers = world.partition("t").followers
    assert followers is not None
    assert followers.by_id[OTHER].end_offset == -1


def test_a_waiting_follower_hears_at_once_that_somebody_else_leads(
    world: SmallBroker, other: Asking
) -> None:
    other.ask((0, 0), (1, 0))
    waiting = other.ask()

    world.change(other.topic_id, 1, leader=OTHER)

    (data,) = parts(waiting)
    assert data.partition_index == 1
    assert ErrorCode(data.error_code) is ErrorCode.FENCED_LEADER_EPOCH


def test_a_stranger_is_told_that_we_have_not_heard_of_it(world: SmallBroker) -> None:
    stranger = Asking(world, 9, world.partition("t").topic_id)

    (data,) = parts(stranger.ask((0, 0)))

    assert ErrorCode(data.error_code) is ErrorCode.UNKNOWN_LEADER_EPOCH

"""Copying from leaders: what goes over the connection, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_broker import NODE_ID, SmallBroker
from storage_logs import batch
from wired_broker import HandLoop, Timer

from barnabas.base.errors import ErrorCode
from barnabas.broker.fetchers import Fetchers
from barnabas.protocol.message import Message
from barnabas.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.replication import following

LEADER, THIRD = 2, 3
SESSION = 5
Done = Callable[[Message | None], None]


class Loop(HandLoop):
    """What is put off can be called off."""

    def call_soon(self, call: Callable[[], None]) -> Timer:  # type: ignore[override]
        timer = Timer(self.time(), call)
        self.soon.append(lambda: None if timer.cancelled else call())
        return timer


class Connection:
    """One that the test answers on."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.sent: list[tuple[Any, Done]] = []
        self.is_closed = False

    def send(self, request: Message, done: Done, *, timeout_s: float) -> None:
        self.sent.append((request, done))

    def close(self) -> None:
        self.is_closed = True

    def take(self, kind: type[Message] = FetchRequest) -> tuple[Any, Done]:
        request, done = self.sent.pop(0)
        assert isinstance(request, kind)
        return request, done


class World(SmallBroker):
    """Follows what the test has it follow; it is `connections` itself."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.broker.epoch = 7
        self.loop = Loop(self.clock)
        self.made: list[Connection] = []
        self.is_reachable = True
        self.broker.connections = self  # type: ignore[assignment]
        self.fetchers = Fetchers(
            self.broker,
            self.loop,  # type: ignore[arg-type]
            schedule_turn=lambda: self.loop.call_soon(self.replicas.write_dirty),
        )
        self.replicas.on_moved = self.fetchers.moved

    def open(self, node_id: int, on_lost: Callable[[], None]) -> Connection | None:
        if not self.is_reachable:
            return None
        self.made.append(Connection(node_id))
        return self.made[-1]

    def follow(self, name: str, leader: int = LEADER) -> bytes:
        return self.topic(name, replicas=(leader, NODE_ID), leader=leader, leader_epoch=3)

    def answer(self, connection: Connection, *data: tuple[bytes, PartitionData]) -> None:
        """Answer the oldest request, and let the turn end."""
        _, done = connection.take()
        done(
            FetchResponse(
                session_id=SESSION,
                responses=[
                    FetchableTopicResponse(topic_id=topic_id, partitions=[each])
                    for topic_id, each in data
                ],
            )
        )
        self.loop.run()

    def end(self, topic: str) -> int:
        log = self.partition(topic).log
        assert log is not None
        return log.written_end_offset


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.fetchers.stop()
    made.close()


def records(*batches: memoryview, **fields: Any) -> PartitionData:
    data = memoryview(bytearray(b"".join(batches)))
    return PartitionData(records=data, **{"high_watermark": 0, "log_start_offset": 0, **fields})


def offsets(request: FetchRequest) -> dict[bytes, int]:
    return {topic.topic_id: topic.partitions[0].fetch_offset for topic in request.topics}


def test_what_is_followed_in_one_turn_is_asked_for_in_one_request(world: World) -> None:
    a, b = world.follow("a"), world.follow("b")
    c = world.follow("c", leader=THIRD)
    world.loop.run()

    first, second = world.made
    assert (first.node_id, second.node_id) == (LEADER, THIRD)
    request, _ = first.take()
    assert offsets(request) == {a: 0, b: 0}
    assert request.replica_state.replica_epoch == 7
    assert offsets(second.take()[0]) == {c: 0}


def test_records_are_written_before_the_next_fetch_tells_of_them(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    (leader,) = world.made
    got = records(
        batch(b"x", base_offset=0, leader_epoch=3), batch(b"y", base_offset=1, leader_epoch=3)
    )
    got.high_watermark = 1

    _, done = leader.take()
    done(
        FetchResponse(
            session_id=SESSION,
            responses=[FetchableTopicResponse(topic_id=a, partitions=[got])],
        )
    )
    assert leader.sent == []
    assert world.end("a") == 0
    world.loop.run()

    assert world.end("a") == 2
    log = world.partition("a").log
    assert log is not None
    assert log.high_watermark == 1
    request, _ = leader.take()
    assert offsets(request) == {a: 2}
    assert request.topics[0].partitions[0].last_fetched_epoch == 3


def test_half_a_batch_at_the_end_is_asked_for_again(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    (leader,) = world.made
    whole, half = (batch(b"x", base_offset=n, leader_epoch=3) for n in (0, 1))

    world.answer(leader, (a, records(whole, half[:-5])))

    assert offsets(leader.take()[0]) == {a: 1}


def test_a_damaged_batch_is_not_appended_and_asked_for_again_later(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    (leader,) = world.made
    damaged = batch(b"xxxxxxxx", base_offset=0, leader_epoch=3)
    damaged[-1] ^= 1

    world.answer(leader, (a, records(damaged)))

    assert world.end("a") == 0
    assert leader.sent == []  # nothing else is followed there
    world.loop.advance(0.1)
    assert offsets(leader.take()[0]) == {a: 0}


def test_a_fault_in_one_partition_does_not_end_the_copying_of_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = world.follow("a"), world.follow("b")
    world.loop.run()
    (leader,) = world.made
    append = following.append

    def fault(replicas: Any, partition: Any, *rest: Any, **named: Any) -> None:
        if partition.topic == "a":
            raise ValueError
        append(replicas, partition, *rest, **named)

    monkeypatch.setattr(following, "append", fault)
    first = batch(b"x", base_offset=0, leader_epoch=3)

    world.answer(leader, (a, records(first)), (b, records(first)))

    assert (world.end("a"), world.end("b")) == (0, 1)
    assert offsets(leader.take()[0]) == {b: 1}


def test_a_write_that_fails_is_asked_for_again_later(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    (leader,) = world.made
    world.disk.room = 0

    world.answer(leader, (a, records(batch(b"x", base_offset=0, leader_epoch=3))))

    assert world.end("a") == 0
    world.disk.room = None
    world.loop.advance(0.1)
    assert offsets(leader.take()[0]) == {a: 0}


def test_a_partition_that_comes_while_the_leader_holds_a_fetch_makes_it_answer(
    world: World,
) -> None:
    world.follow("a")
    world.loop.run()
    (leader,) = world.made
    b = world.follow("b")
    world.loop.run()
    world.follow("c")
    world.loop.run()

    assert len(leader.sent) == 2  # one nudge, not two
    nudge, _ = leader.sent.pop()
    assert (nudge.session_id, nudge.session_epoch, nudge.topics) == (0, -1, [])
    world.answer(leader)
    assert b in offsets(leader.take()[0])


def test_a_partition_that_was_left_alone_makes_the_leader_answer_when_it_is_time(
    world: World,
) -> None:
    a, _ = world.follow("a"), world.follow("b")
    world.loop.run()
    (leader,) = world.made
    refused = PartitionData(error_code=int(ErrorCode.UNKNOWN_LEADER_EPOCH))
    world.answer(leader, (a, refused))
    assert len(leader.sent) == 1  # for the other one

    world.loop.advance(0.05)

    nudge, _ = leader.sent.pop()
    assert nudge.topics == []
    world.answer(leader)
    assert offsets(leader.take()[0]) == {a: 0}


def test_a_leader_that_is_lost_is_tried_again_each_time_later(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    for attempt in range(3):
        _, done = world.made[-1].take()
        done(None)
        world.loop.run()
        assert world.made[-1].is_closed
        assert len(world.made) == attempt + 1
        world.loop.advance(0.02 * 2**attempt + 0.001)
        assert len(world.made) == attempt + 2
        assert offsets(world.made[-1].sent[0][0]) == {a: 0}


def test_a_broker_that_is_not_known_yet_is_tried_as_soon_as_it_is(world: World) -> None:
    world.is_reachable = False
    world.follow("a")
    world.loop.run()
    for _ in range(8):
        world.loop.advance(2.0)
    assert world.made == []

    world.is_reachable = True
    world.fetchers.broker_changed(LEADER)
    world.loop.run()

    assert len(world.made) == 1


def test_a_new_leader_is_asked_and_the_old_connection_closed(world: World) -> None:
    a = world.topic("a", replicas=(LEADER, THIRD, NODE_ID), leader=LEADER, leader_epoch=3)
    world.loop.run()

    world.change(a, leader=THIRD)
    world.loop.run()

    old, new = world.made
    assert old.is_closed
    assert new.node_id == THIRD
    request, _ = new.take()
    assert request.topics[0].partitions[0].current_leader_epoch == 4
    _, late = old.take()
    late(FetchResponse(session_id=SESSION))  # means nothing any more
    world.loop.run()
    assert old.sent == []


def test_who_becomes_leader_or_loses_the_topic_stops_to_follow(world: World) -> None:
    a, b = world.follow("a"), world.follow("b")
    world.loop.run()

    world.change(a, leader=NODE_ID)
    world.delete(b)
    world.loop.run()

    (leader,) = world.made
    assert leader.is_closed


def test_where_logs_have_parted_ours_is_cut(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    (leader,) = world.made
    got = [batch(b"%d" % n, base_offset=n, leader_epoch=n) for n in range(3)]
    world.answer(leader, (a, records(*got)))
    assert world.end("a") == 3

    world.answer(leader, (a, PartitionData(diverging_epoch=EpochEndOffset(epoch=1, end_offset=1))))

    assert world.end("a") == 1
    request, _ = leader.take()
    assert offsets(request) == {a: 1}
    assert request.topics[0].partitions[0].last_fetched_epoch == 0


def test_a_position_that_the_leader_does_not_have_is_replaced_by_one_it_has(world: World) -> None:
    a = world.follow("a")
    world.loop.run()
    (leader,) = world.made
    world.answer(leader, (a, PartitionData(error_code=int(ErrorCode.OFFSET_OUT_OF_RANGE))))

    for offset in (90, 40):  # where it ends, where it begins
        request, done = leader.take(ListOffsetsRequest)
        assert request.replica_id == NODE_ID
        found = ListOffsetsPartitionResponse(offset=offset)
        done(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="a", partitions=[found])]))
    world.loop.run()

    assert offsets(leader.take()[0]) == {a: 40}
    log = world.partition("a").log
    assert log is not None
    assert log.start_offset == 40


@pytest.fixture
def slow(world: World) -> tuple[World, bytes, Connection]:
    """A replica that was copied so fast that at 10 bytes a second it would wait for long."""
    topic_id = world.topic("a", replicas=(LEADER, NODE_ID), leader=LEADER, isr=(LEADER,))
    world.loop.run()
    world.partition("a").is_throttled_follower = True
    world.replicas.follower_throttle.set_rate(10, world.loop.time())
    (leader,) = world.made
    world.answer(leader, (topic_id, records(batch(b"x" * 1000, base_offset=0))))
    world.loop.advance(5)
    assert leader.sent == [], "it waits"
    return world, topic_id, leader


def test_a_raised_throttle_is_felt_at_once(slow: tuple[World, bytes, Connection]) -> None:
    world, topic_id, leader = slow
    world.fetchers.throttles_changed()
    world.loop.run()
    assert leader.sent == [], "something else has changed"

    world.replicas.follower_throttle.set_rate(1_000_000, world.loop.time())
    world.fetchers.throttles_changed()
    world.loop.run()
    assert offsets(leader.take()[0]) == {topic_id: 1}


def test_a_replica_that_is_no_longer_throttled_waits_no_longer(
    slow: tuple[World, bytes, Connection],
) -> None:
    world, topic_id, leader = slow
    world.partition("a").is_throttled_follower = False
    world.fetchers.throttles_changed()
    world.loop.run()
    assert offsets(leader.take()[0]) == {topic_id: 1}

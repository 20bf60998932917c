"""The end of a loop turn: write, wake, send, in that order; and what time brings."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from storage_logs import batch, values_of
from wired_broker import Client, WiredBroker

from barnabas.broker.net.buffers import RECEIVE_BYTES, REGIONS
from barnabas.broker.net.turn import LOOK_EVERY, PATIENCE_S
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.storage.fs import Buffer


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WiredBroker]:
    made = WiredBroker(tmp_path)
    made.topic("t", 4)
    yield made
    made.close()


def produce(*values: bytes, index: int = 0, acks: int = 1) -> bytes:
    data = PartitionProduceData(index=index, records=bytes(batch(*values)))
    request = ProduceRequest(
        acks=acks, timeout_ms=500, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )
    return struct.pack(">hhihB", ApiKey.PRODUCE, 9, 1, -1, 0) + request.encode(9)


def fetch(*, offset: int = 0, min_bytes: int = 1, wait_ms: int = 500, index: int = 0) -> bytes:
    wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic="t", partitions=[wanted])],
    )
    return struct.pack(">hhihB", ApiKey.FETCH, 12, 1, -1, 0) + request.encode(12)


def fetched(client: Client) -> list[int]:
    """Bytes of records in each answer."""
    sizes = []
    for answer in client.answers():
        decoded: Any = FetchResponse.decode(answer[5:], 12)
        sizes.append(len(decoded.responses[0].partitions[0].records))
    return sizes


class Watch:
    """Counts the writes to the logs, and sees what had been answered before each."""

    def __init__(self, world: WiredBroker, *clients: Client) -> None:
        self.answered_before: list[int] = []
        self._clients = clients
        self._write = world.disk.pwritev
        world.disk.pwritev = self  # type: ignore[assignment, method-assign]

    def __call__(self, fd: int, parts: Sequence[Buffer], position: int) -> int:
        self.answered_before.append(sum(len(client.answers()) for client in self._clients))
        return self._write(fd, parts, position)


def test_where_much_is_received_answers_do_not_wait_for_all_of_it(world: WiredBroker) -> None:
    clients = [world.connect() for _ in range(LOOK_EVERY + 1)]
    watch = Watch(world, *clients)
    for client in clients[: LOOK_EVERY - 1]:
        client.send(produce(b"v"))
    world.clock.mono += PATIENCE_S
    assert watch.answered_before == []

    for client in clients[LOOK_EVERY - 1 :]:
        client.send(produce(b"v"))
    assert watch.answered_before == [0], "written once, and not before it is answered"
    assert [len(client.answers()) for client in clients] == [1] * LOOK_EVERY + [0]

    world.run_turn()
    assert len(clients[-1].answers()) == 1


def test_what_is_soon_read_leaves_together(world: WiredBroker) -> None:
    world.clock.mono += 1  # since the last turn: how long ago it was does not count
    clients = [world.connect() for _ in range(3 * LOOK_EVERY)]
    watch = Watch(world, *clients)
    for client in clients[: 2 * LOOK_EVERY]:
        client.send(produce(b"v"))
    world.clock.mono += 0.9 * PATIENCE_S
    for client in clients[2 * LOOK_EVERY :]:
        client.send(produce(b"v"))
    assert watch.answered_before == []

    world.run_turn()
    assert watch.answered_before == [0]
    assert all(len(client.answers()) == 1 for client in clients)


def test_nothing_is_acknowledged_before_it_is_written(world: WiredBroker) -> None:
    clients = world.connect(), world.connect()
    watch = Watch(world, *clients)
    for client in clients:
        client.send(produce(b"a"))
        client.send(produce(b"b", index=1))

    world.run_turn()

    assert watch.answered_before == [0, 0]
    assert [len(client.answers()) for client in clients] == [2, 2]


def test_all_batches_of_a_turn_for_a_partition_are_one_write(world: WiredBroker) -> None:
    clients = [world.connect() for _ in range(5)]
    watch = Watch(world)
    for number, client in enumerate(clients):
        client.send(produce(b"%d" % number))
        client.send(produce(b"%d" % number))

    world.run_turn()

    assert len(watch.answered_before) == 1
    assert len(values_of(world.partition("t").leader_log())) == 10


def test_a_waiting_fetch_is_answered_in_the_turn_that_brings_its_records(
    world: WiredBroker,
) -> None:
    reader, writer = world.connect(), world.connect()
    reader.send(fetch())
    world.run_turn()
    assert fetched(reader) == []

    writer.send(produce(b"a"))
    world.run_turn()

    assert fetched(reader) == [len(batch(b"a"))]


def test_a_fetch_waits_until_there_is_enough(world: WiredBroker) -> None:
    reader, writer = world.connect(), world.connect()
    size = len(batch(b"a"))
    reader.send(fetch(min_bytes=size * 2))
    writer.send(produce(b"a"))
    world.run_turn()
    assert fetched(reader) == []

    writer.send(produce(b"b"))
    world.run_turn()

    assert fetched(reader) == [size * 2]


def test_a_fetch_gets_what_there_is_when_its_time_is_up_and_not_before(
    world: WiredBroker,
) -> None:
    reader, writer = world.connect(), world.connect()
    reader.send(fetch(min_bytes=10_000, wait_ms=500))
    writer.send(produce(b"a"))
    world.run_turn()

    world.loop.advance(0.4)
    assert fetched(reader) == []
    world.loop.advance(0.1)
    assert fetched(reader) == [len(batch(b"a"))]
    world.loop.advance(10.0)
    assert fetched(reader) == []


def test_an_earlier_deadline_overtakes_a_later_one(world: WiredBroker) -> None:
    patient, hasty = world.connect(), world.connect()
    patient.send(fetch(wait_ms=5000))
    world.run_turn()
    hasty.send(fetch(wait_ms=100))
    world.run_turn()

    world.loop.advance(0.1)
    assert (fetched(patient), fetched(hasty)) == ([], [0])
    world.loop.advance(4.9)
    assert fetched(patient) == [0]


def test_no_timer_is_left_when_the_turn_is_stopped(world: WiredBroker) -> None:
    world.connect().send(fetch(wait_ms=100))
    world.run_turn()

    world.turn.stop()

    assert [timer for timer in world.loop.timers if not timer.cancelled] == []


def test_a_turn_may_bring_more_than_the_receive_buffer_holds(world: WiredBroker) -> None:
    """Batches stay where they were received until they are written: none may be overwritten."""
    client = world.connect()
    count = RECEIVE_BYTES * REGIONS * 3 // 60_000
    for number in range(count):
        client.send(produce(b"%d" % number + bytes(60_000), index=number % 4))
    world.run_turn()

    assert len(client.answers()) == count
    found = sorted(
        int(value[:-60_000])
        for index in range(4)
        for value in values_of(world.partition("t", index).leader_log())
        if value is not None
    )
    assert found == list(range(count))


def test_large_frames_keep_their_buffers_until_they_are_written(world: WiredBroker) -> None:
    clients = [world.connect() for _ in range(3)]
    for turn in range(3):  # the later turns use the buffers of the earlier ones again
        for number, client in enumerate(clients):
            frame = produce(bytes([10 * turn + number]) * 300_000)
            client.send(frame, cut=100_000)
        world.run_turn()

    found = [value[:1] for value in values_of(world.partition("t").leader_log()) if value]
    assert found == [bytes([10 * turn + number]) for turn in range(3) for number in range(3)]


def test_what_was_received_but_not_written_survives_the_next_reads(world: WiredBroker) -> None:
    first, second = world.connect(), world.connect()
    first.send(produce(b"first" * 100))
    for _ in range(20):
        second.send(fetch(offset=0, wait_ms=0, index=3))
    world.run_turn()

    assert values_of(world.partition("t").leader_log()) == [b"first" * 100]


def test_a_client_that_left_does_not_stop_the_turn(world: WiredBroker) -> None:
    gone, stays = world.connect(), world.connect()
    gone.send(produce(b"a"))
    stays.send(produce(b"b"))

    gone.lose()
    world.run_turn()

    assert len(stays.answers()) == 1
    assert values_of(world.partition("t").leader_log()) == [b"a", b"b"]


def test_a_client_that_left_is_not_waited_for(world: WiredBroker) -> None:
    reader = world.connect()
    reader.send(fetch(wait_ms=100))
    world.run_turn()
    assert world.replicas.next_deadline() is not None

    reader.lose()

    assert world.replicas.next_deadline() is None
    assert world.partition("t").waiters == {}

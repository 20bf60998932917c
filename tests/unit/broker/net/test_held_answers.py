"""The short way of Produce with acks=all and followers: answers wait, and leave in order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_broker import NODE_ID
from storage_logs import batch
from wired_broker import Client, WiredBroker

from barnabas.base.errors import ErrorCode
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.replication import leading

OTHER = 2
VERSION = 11


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WiredBroker]:
    made = WiredBroker(tmp_path)
    made.topic("t", 2, replicas=(NODE_ID, OTHER))
    yield made
    made.close()


class Sending(Client):
    """Sends one batch a request; `told` is what came back: correlation id, error, offset."""

    count = 0

    def produce(self, *, index: int = 0, sequence: int = -1, acks: int = -1) -> None:
        self.count += 1
        producer = {"producer_id": 7, "epoch": 0, "sequence": sequence} if sequence >= 0 else {}
        data = PartitionProduceData(index=index, records=bytes(batch(b"v", **producer)))  # type: ignore[arg-type]
        request = ProduceRequest(
            acks=acks,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="t", partition_data=[data])],
        )
        head = struct.pack(">hhih", ApiKey.PRODUCE, VERSION, self.count, 1) + b"c\0"
        self.send(head + request.encode(VERSION))

    def told(self) -> list[tuple[int, str, int]]:
        found = []
        for answer in self.answers():
            (correlation_id,) = struct.unpack_from(">i", answer)
            response = ProduceResponse.decode(answer, VERSION, 5)
            result = response.responses[0].partition_responses[0]
            found.append((correlation_id, ErrorCode(result.error_code).name, result.base_offset))
        return found


@pytest.fixture
def client(world: WiredBroker) -> Sending:
    """Past its first request, which always goes the long way."""
    made = Sending(world.server, world.requests)
    world.clients.append(made)
    made.produce()
    world.run_turn()
    follow(world, 1)
    assert made.told() == [(1, "NONE", 0)]
    return made


def follow(world: WiredBroker, offset: int, index: int = 0) -> None:
    """The follower has everything below `offset`."""
    leading.follower_fetched(
        world.replicas,
        world.partition("t", index),
        OTHER,
        offset=offset,
        start_offset=0,
        broker_epoch=1,
        now=world.clock.mono,
    )
    world.run_turn()


def test_answers_leave_when_the_follower_has_the_batches(
    world: WiredBroker, client: Sending
) -> None:
    for _ in range(3):
        client.produce()
    world.run_turn()
    assert client.told() == []

    follow(world, 3)
    assert client.told() == [(2, "NONE", 1), (3, "NONE", 2)]
    follow(world, 4)
    assert client.told() == [(4, "NONE", 3)]


def test_answers_leave_in_the_order_of_the_requests(world: WiredBroker, client: Sending) -> None:
    client.produce(index=0)
    client.produce(index=1)
    world.run_turn()

    follow(world, 1, index=1)
    assert client.told() == []
    follow(world, 2, index=0)
    assert client.told() == [(2, "NONE", 1), (3, "NONE", 0)]


def test_a_batch_that_was_sent_again_and_is_replicated_is_answered_at_once(
    world: WiredBroker, client: Sending
) -> None:
    client.produce(sequence=0)
    world.run_turn()
    follow(world, 2)
    assert client.told() == [(2, "NONE", 1)]

    client.produce(sequence=0)
    world.run_turn()

    assert client.told() == [(3, "NONE", 1)]


def test_nobody_waits_longer_than_the_timeout(world: WiredBroker, client: Sending) -> None:
    client.produce()
    world.run_turn()

    world.loop.advance(0.9)
    assert client.told() == []
    world.loop.advance(0.2)

    assert client.told() == [(2, "REQUEST_TIMED_OUT", -1)]


def test_who_loses_leadership_says_so(world: WiredBroker, client: Sending) -> None:
    client.produce()
    world.run_turn()

    world.change(world.partition("t").topic_id, leader=OTHER)
    world.run_turn()

    assert client.told() == [(2, "NOT_LEADER_OR_FOLLOWER", -1)]


def test_a_write_that_fails_is_told_to_those_who_were_in_it(
    world: WiredBroker, client: Sending
) -> None:
    client.produce()
    world.run_turn()
    world.disk.room = 0
    client.produce()
    world.run_turn()
    world.disk.room = None

    assert client.told() == []  # the one before it is written and waits
    follow(world, 2)
    assert client.told() == [(2, "NONE", 1), (3, "KAFKA_STORAGE_ERROR", -1)]


def test_a_client_that_has_gone_is_forgotten(world: WiredBroker, client: Sending) -> None:
    client.produce()
    world.run_turn()

    client.lose()
    follow(world, 2)

    assert not world.partition("t").held


def test_acks_1_waits_for_nobody(world: WiredBroker) -> None:
    client = Sending(world.server, world.requests)
    world.clients.append(client)
    for _ in range(2):
        client.produce(acks=1)
        world.run_turn()

    assert client.told() == [(1, "NONE", 0), (2, "NONE", 1)]

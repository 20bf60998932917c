"""A client that uses more than its quota is told so at once, and not read from for that long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from storage_logs import batch
from wire_client import fetch_request, produce_request
from wired_broker import Client, WiredBroker

from barnabas.broker.dispatch import HANDLERS
from barnabas.broker.net.requests import Requests
from barnabas.broker.net.server import Server
from barnabas.broker.net.throttling import close_after, mute, unmute
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.framing import encode_request_header, read_response_header
from barnabas.protocol.message import Message
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.metadata import MetadataRequest

PRODUCE, FETCH, METADATA = 11, 12, 12
CLIENT = "app"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WiredBroker]:
    made = WiredBroker(tmp_path, quota_window_num="2")
    made.topic("t")
    yield made
    made.close()


def limit(world: WiredBroker, **values: float) -> None:
    world.broker.quotas.apply({(("client-id", CLIENT),): values})


def ask(client: Client, request: Message, version: int, client_id: str = CLIENT) -> None:
    described = api(ApiKey(request.api_key))
    header = encode_request_header(described, version, 1, client_id)
    client.send(header + request.encode(version))


def answers(world: WiredBroker, client: Client, request: Message, version: int) -> list[Any]:
    world.run_turn()
    described = api(ApiKey(request.api_key))
    found = []
    for payload in client.answers():
        _, pos = read_response_header(payload, described, version)
        found.append(described.response.decode(payload, version, pos))
    return found


def batch_of(size: int) -> bytes:
    return bytes(batch(bytes(size)))


def test_a_producer_is_answered_at_once_and_its_next_request_waits(world: WiredBroker) -> None:
    limit(world, producer_byte_rate=1000.0)
    client = world.connect()
    request = produce_request("t", batch_of(3000), acks=1)

    ask(client, request, PRODUCE)
    ask(client, request, PRODUCE)

    (first,) = answers(world, client, request, PRODUCE)
    assert 2000 < first.throttle_time_ms < 2300
    world.loop.advance(2.0)
    assert answers(world, client, request, PRODUCE) == []
    world.loop.advance(0.3)
    (second,) = answers(world, client, request, PRODUCE)
    assert second.throttle_time_ms > 2000
    assert second.responses[0].partition_responses[0].base_offset == 1


def test_a_producer_without_acks_waits_too(world: WiredBroker) -> None:
    limit(world, producer_byte_rate=1000.0)
    client = world.connect()

    ask(client, produce_request("t", batch_of(3000), acks=0), PRODUCE)
    ask(client, MetadataRequest(topics=[]), METADATA)

    assert answers(world, client, MetadataRequest(), METADATA) == []
    world.loop.advance(3.0)
    assert len(answers(world, client, MetadataRequest(), METADATA)) == 1


def test_others_take_the_short_way_and_those_with_a_quota_do_not(world: WiredBroker) -> None:
    limit(world, producer_byte_rate=1e9)
    limited, free = world.connect(), world.connect()
    request = produce_request("t", batch_of(10), acks=1)

    ask(limited, request, PRODUCE)
    ask(free, request, PRODUCE, "other")

    assert limited.connection.produce_memo is None
    assert free.connection.produce_memo is not None


def test_a_consumer_gets_nothing_when_it_would_be_too_much(world: WiredBroker) -> None:
    world.append("t", bytes(900))
    world.append("t", bytes(900))
    world.replicas.write_dirty()
    limit(world, consumer_byte_rate=1000.0)
    client = world.connect()

    ask(client, fetch_request("t"), FETCH)
    (first,) = answers(world, client, fetch_request("t"), FETCH)
    ask(client, fetch_request("t", offset=1), FETCH)
    (second,) = answers(world, client, fetch_request("t"), FETCH)

    assert 900 < len(first.responses[0].partitions[0].records) <= 1000
    assert first.throttle_time_ms == 0
    assert second.responses == []
    assert 900 < second.throttle_time_ms < 1000
    ask(client, fetch_request("t", offset=1), FETCH)
    assert answers(world, client, fetch_request("t"), FETCH) == []
    world.loop.advance(1.0)
    (third,) = answers(world, client, fetch_request("t"), FETCH)
    assert third.throttle_time_ms == 0
    assert len(third.responses[0].partitions[0].records) > 900


def test_followers_have_no_quota(world: WiredBroker) -> None:
    world.append("t", bytes(900))
    world.replicas.write_dirty()
    limit(world, consumer_byte_rate=1.0)
    client = world.connect()
    request = fetch_request("t")
    request.replica_id = 2

    for _ in range(2):
        ask(client, request, FETCH)
        (answer,) = answers(world, client, request, FETCH)
        assert answer.throttle_time_ms == 0


def test_time_is_charged_and_the_wait_for_it_is_bounded(world: WiredBroker) -> None:
    entry = HANDLERS[ApiKey.METADATA]

    def slow(*args: Any) -> Any:
        world.clock.mono += 5.0
        return entry.handler(*args)

    world.requests = Requests(world.broker, {ApiKey.METADATA: replace(entry, handler=slow)})
    limit(world, request_percentage=10.0)
    client = world.connect()

    ask(client, MetadataRequest(topics=[]), METADATA)

    (answer,) = answers(world, client, MetadataRequest(), METADATA)
    assert answer.throttle_time_ms == 1000
    assert client.connection.muted is not None


def test_an_answer_that_others_get_too_is_left_as_it_is(world: WiredBroker) -> None:
    shared = HeartbeatResponse()
    entry = replace(HANDLERS[ApiKey.HEARTBEAT], handler=lambda *_: shared)
    world.requests = Requests(world.broker, {ApiKey.HEARTBEAT: entry})
    limit(world, request_percentage=10.0)
    client = world.connect()
    limits = world.broker.quotas.of("ANONYMOUS", CLIENT)
    assert limits is not None
    assert limits.requests is not None
    limits.requests.spend(50, world.clock.mono)

    ask(client, HeartbeatRequest(), 4)

    (answer,) = answers(world, client, HeartbeatRequest(), 4)
    assert answer.throttle_time_ms == 1000
    assert shared.throttle_time_ms == 0


def test_a_wait_can_be_made_longer_but_not_shorter(world: WiredBroker) -> None:
    client = world.connect()

    mute(client.connection, 3.0)
    mute(client.connection, 1.0)
    mute(client.connection, 0.0)
    ask(client, MetadataRequest(topics=[]), METADATA)

    world.loop.advance(2.0)
    assert answers(world, client, MetadataRequest(), METADATA) == []
    world.loop.advance(1.0)
    assert len(answers(world, client, MetadataRequest(), METADATA)) == 1
    assert client.connection.muted is None


def test_who_is_let_go_early_is_read_from_at_once(world: WiredBroker) -> None:
    client = world.connect()
    mute(client.connection, 1000.0)
    ask(client, MetadataRequest(topics=[]), METADATA)
    assert answers(world, client, MetadataRequest(), METADATA) == []

    unmute(client.connection)

    assert len(answers(world, client, MetadataRequest(), METADATA)) == 1
    ask(client, MetadataRequest(topics=[]), METADATA)
    assert len(answers(world, client, MetadataRequest(), METADATA)) == 1


def test_a_connection_that_came_too_soon_is_never_read_from(world: WiredBroker) -> None:
    client = world.connect()
    close_after(client.connection, 2.0)
    ask(client, MetadataRequest(topics=[]), METADATA)

    unmute(client.connection)
    world.loop.advance(1.0)
    assert answers(world, client, MetadataRequest(), METADATA) == []
    assert not client.is_closed
    world.loop.advance(1.0)
    assert client.is_closed


def test_a_client_that_goes_while_it_waits_leaves_nothing_behind(world: WiredBroker) -> None:
    client = world.connect()
    mute(client.connection, 5.0)

    client.lose()

    assert all(timer.cancelled for timer in world.loop.timers)


def test_when_quotas_change_nothing_learnt_counts_and_who_waits_is_free(world: WiredBroker) -> None:
    server = Server(world.turn, world.requests, world.config)
    client = world.connect()
    assert server.admit(client.connection)
    request = produce_request("t", batch_of(10), acks=1)
    ask(client, request, PRODUCE)
    assert client.connection.produce_memo is not None
    mute(client.connection, 1000.0)

    server.quotas_changed()

    assert client.connection.produce_memo is None
    assert client.connection.muted is None


def test_a_connection_too_many_from_an_address_is_not_served(world: WiredBroker) -> None:
    server = Server(world.turn, world.requests, world.config)
    server.quotas = world.broker.quotas
    world.broker.quotas.apply({(("ip", "127.0.0.1"),): {"connection_creation_rate": 1.0}})
    first, second = world.connect(), world.connect()

    assert server.admit(first.connection)
    assert server.admit(second.connection)

    assert first.connection.muted is None
    assert second.connection.muted is not None
    world.loop.advance(1.0)
    assert (first.is_closed, second.is_closed) == (False, True)

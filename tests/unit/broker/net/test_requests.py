"""Frames to handlers and answers to frames: versions, order, errors, headers."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from storage_logs import batch
from wired_broker import Client, WiredBroker

from barnabas.base.errors import ErrorCode, InvalidRequest
from barnabas.broker.dispatch import Entry, Later, RequestContext
from barnabas.broker.net.requests import Requests
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.message import Message
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

Answer = Callable[[RequestContext, Any], Message | Later | None]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WiredBroker]:
    made = WiredBroker(tmp_path)
    yield made
    made.close()


def frame(
    request: Message, version: int, *, correlation_id: int = 7, client_id: bytes | None = b"me"
) -> bytes:
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id))
    flexible = api(request.api_key).request_header_version(version) == 2
    return (
        struct.pack(">hhi", request.api_key, version, correlation_id)
        + name
        + (client_id or b"")
        + (b"\0" if flexible else b"")
        + request.encode(version)
    )


def serve(world: WiredBroker, handlers: dict[ApiKey, Answer]) -> Client:
    """A connection to a broker that has these handlers only, in every version that there is."""
    table: dict[int, Entry] = {
        key: Entry(
            key,
            api(key).min_version,
            api(key).max_version,
            lambda broker, ctx, request, handler=handler: handler(ctx, request),
        )
        for key, handler in handlers.items()
    }
    world.requests = Requests(world.broker, table)
    return world.connect()


def correlation_ids(answers: list[bytes]) -> list[int]:
    return [struct.unpack_from(">i", answer)[0] for answer in answers]


def closed_with(world: WiredBroker, client: Client, data: bytes, caplog: Any) -> str:
    """The line that says why `data` closed the connection, without an answer to it."""
    client.send(data)
    world.run_turn()
    assert client.is_closed
    assert client.answers() == []
    return str(caplog.messages[-1])


# What is asked.


def test_a_handler_learns_who_asked_and_how(world: WiredBroker) -> None:
    asked: list[tuple[RequestContext, Any]] = []

    def remember(ctx: RequestContext, request: Any) -> Message:
        asked.append((ctx, request))
        return MetadataResponse()

    client = serve(world, {ApiKey.METADATA: remember})
    client.send(frame(MetadataRequest(topics=None), 9, correlation_id=41))

    ctx, request = asked[0]
    assert (ctx.api_key, ctx.api_version, ctx.correlation_id) == (ApiKey.METADATA, 9, 41)
    assert (ctx.client_id, ctx.peer_host, ctx.listener.name) == ("me", "127.0.0.1", "PLAINTEXT")
    assert request == MetadataRequest(topics=None)


def test_a_client_need_not_have_a_name(world: WiredBroker) -> None:
    names: list[str | None] = []

    def remember(ctx: RequestContext, request: Any) -> Message:
        names.append(ctx.client_id)
        return MetadataResponse()

    client = serve(world, {ApiKey.METADATA: remember})
    for client_id in (None, b"", b"x"):
        client.send(frame(MetadataRequest(), 1, client_id=client_id))

    assert names == [None, "", "x"]


def test_bytes_behind_a_request_are_passed_over(world: WiredBroker) -> None:
    client = world.connect()

    client.send(frame(MetadataRequest(topics=[]), 1) + b"more")
    world.run_turn()

    assert len(client.answers()) == 1
    assert not client.is_closed


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (struct.pack(">hhih", 999, 0, 1, -1), "api key 999"),
        (struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, 0, 1, -1), "api key 17"),
        (struct.pack(">hhih", ApiKey.FETCH, 3, 1, -1), "FETCH version 3"),
        (struct.pack(">hhih", ApiKey.FETCH, 99, 1, -1), "FETCH version 99"),
        (struct.pack(">hhih", ApiKey.METADATA, -1, 1, -1), "METADATA version -1"),
        (struct.pack(">hhih", ApiKey.METADATA, 1, 1, -1) + bytes(8 << 20), "too many"),
        (struct.pack(">hhih", ApiKey.METADATA, 1, 1, 400), ""),
        (struct.pack(">hhih", ApiKey.METADATA, 1, 1, -1) + b"\xff", ""),
    ],
    ids=["no such api", "not answered", "too old", "too new", "negative", "huge", "header", "body"],
)
def test_what_makes_no_sense_closes_its_connection_with_one_line(
    world: WiredBroker, caplog: pytest.LogCaptureFixture, data: bytes, why: str
) -> None:
    client, other = world.connect(), world.connect()

    line = closed_with(world, client, data, caplog)

    assert line.startswith("closing connection from 127.0.0.1")
    assert why in line
    assert [record.exc_info for record in caplog.records] == [None]
    other.send(frame(MetadataRequest(topics=[]), 1))
    world.run_turn()
    assert len(other.answers()) == 1


@pytest.mark.parametrize("version", [5, 99, -1])
def test_apiversions_in_an_unknown_version_is_answered_in_version_0(
    world: WiredBroker, version: int
) -> None:
    client = world.connect()

    client.send(struct.pack(">hhi", ApiKey.API_VERSIONS, version, 12) + b"whatever comes here")
    world.run_turn()

    (answer,) = client.answers()
    decoded = ApiVersionsResponse.decode(answer[4:], 0)
    assert correlation_ids([answer]) == [12]
    assert decoded.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert {entry.api_key for entry in decoded.api_keys} >= {ApiKey.PRODUCE, ApiKey.FETCH}
    assert not client.is_closed


# What is answered.


@pytest.mark.parametrize(
    ("request_", "version", "header_bytes"),
    [
        (MetadataRequest(topics=[]), 8, 4),
        (MetadataRequest(topics=[]), 9, 5),
        (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4, 4),
    ],
    ids=["plain", "flexible", "ApiVersions is never flexible"],
)
def test_the_header_of_an_answer_fits_the_version(
    world: WiredBroker, request_: Message, version: int, header_bytes: int
) -> None:
    client = world.connect()

    client.send(frame(request_, version))
    world.run_turn()

    (answer,) = client.answers()
    response = api(request_.api_key).response
    assert response.decode(answer[header_bytes:], version) is not None
    assert answer[4:header_bytes] == bytes(header_bytes - 4)


def test_answers_leave_in_the_order_of_their_requests(world: WiredBroker) -> None:
    waiting: list[Later] = []

    def later(ctx: RequestContext, request: Any) -> Later:
        waiting.append(Later())
        return waiting[-1]

    client = serve(
        world,
        {
            ApiKey.METADATA: lambda ctx, request: MetadataResponse(),
            ApiKey.DESCRIBE_CLUSTER: later,
        },
    )
    client.send(frame(MetadataRequest(), 1, correlation_id=1))
    client.send(frame(DescribeClusterRequest(), 1, correlation_id=2))
    client.send(frame(MetadataRequest(), 1, correlation_id=3))
    client.send(frame(DescribeClusterRequest(), 1, correlation_id=4))
    client.send(frame(MetadataRequest(), 1, correlation_id=5))
    world.run_turn()
    assert correlation_ids(client.answers()) == [1]

    waiting[1].resolve(DescribeClusterResponse())
    world.run_turn()
    assert client.answers() == []

    waiting[0].resolve(DescribeClusterResponse())
    world.run_turn()
    assert correlation_ids(client.answers()) == [2, 3, 4, 5]


def test_no_answer_is_sent_to_who_wants_none(world: WiredBroker) -> None:
    client = serve(
        world,
        {
            ApiKey.METADATA: lambda ctx, request: None,
            ApiKey.DESCRIBE_CLUSTER: lambda ctx, request: DescribeClusterResponse(),
        },
    )
    client.send(frame(MetadataRequest(), 1, correlation_id=1))
    client.send(frame(DescribeClusterRequest(), 1, correlation_id=2))
    world.run_turn()

    assert correlation_ids(client.answers()) == [2]


def test_an_answer_that_comes_when_the_client_has_gone_is_dropped(world: WiredBroker) -> None:
    waiting, abandoned = Later(), []
    waiting.on_abandon = lambda: abandoned.append(1)
    client = serve(world, {ApiKey.METADATA: lambda ctx, request: waiting})
    client.send(frame(MetadataRequest(), 1))
    world.run_turn()

    client.lose()
    waiting.resolve(MetadataResponse())
    world.run_turn()

    assert abandoned == [1]


def test_records_go_from_the_file_to_the_socket_unchanged(world: WiredBroker) -> None:
    world.topic("t")
    for size in (10, 100_000, 1):
        world.append("t", bytes([size % 251]) * size)
    world.replicas.write_dirty()
    stored = Path(world.partition("t").leader_log().segments.active.file.path).read_bytes()
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic="t", partitions=[wanted])]
    )
    client = world.connect()

    client.send(frame(request, 12))
    world.run_turn()

    (answer,) = client.answers()
    decoded: Any = FetchResponse.decode(answer[5:], 12)
    assert bytes(decoded.responses[0].partitions[0].records) == stored


# Handlers that fail.


def fail_with(error: Exception) -> Answer:
    def handler(ctx: RequestContext, request: Any) -> Message:
        raise error

    return handler


def test_a_refusal_is_answered_with_its_code_and_reason(world: WiredBroker) -> None:
    client = serve(world, {ApiKey.DESCRIBE_CLUSTER: fail_with(InvalidRequest("not like this"))})

    client.send(frame(DescribeClusterRequest(), 1))
    world.run_turn()

    decoded: Any = DescribeClusterResponse.decode(client.answers()[0][5:], 1)
    assert decoded.error_code == ErrorCode.INVALID_REQUEST
    assert decoded.error_message == "not like this"


def test_a_fault_of_ours_is_logged_and_its_text_is_not_told(
    world: WiredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve(world, {ApiKey.DESCRIBE_CLUSTER: fail_with(KeyError("secret"))})

    client.send(frame(DescribeClusterRequest(), 1))
    world.run_turn()

    decoded: Any = DescribeClusterResponse.decode(client.answers()[0][5:], 1)
    assert decoded.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "secret" not in (decoded.error_message or "")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert not client.is_closed


def test_a_fault_in_an_answer_without_a_place_for_it_closes_the_connection(
    world: WiredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve(world, {ApiKey.LIST_OFFSETS: fail_with(KeyError("x"))})

    line = closed_with(world, client, frame(ListOffsetsRequest(), 5), caplog)

    assert "closing connection" in line


def test_a_client_that_repeats_what_is_not_answered_gets_one_line(
    world: WiredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for version in (3, 3, 3, 99, 3):
        client = world.connect()
        client.send(struct.pack(">hhih", ApiKey.FETCH, version, 1, -1))
        world.run_turn()
        assert client.is_closed

    assert [message.partition(": ")[2] for message in caplog.messages] == [
        "FETCH version 3 is not answered here",
        "FETCH version 99 is not answered here",
    ]


def test_a_late_answer_that_cannot_be_written_closes_only_its_connection(
    world: WiredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    waiting: list[Later] = []

    def later(ctx: RequestContext, request: Any) -> Later:
        waiting.append(Later())
        return waiting[-1]

    client = serve(world, {ApiKey.DESCRIBE_CLUSTER: later})
    other = world.connect()
    for each in (client, other):
        each.send(frame(DescribeClusterRequest(), 1))
    world.run_turn()

    waiting[0].resolve(DescribeClusterResponse(controller_id=1 << 40))
    waiting[1].resolve(DescribeClusterResponse())
    world.run_turn()

    assert client.is_closed
    assert len(other.answers()) == 1
    assert "could not be answered" in caplog.text


def test_produce_without_acks_to_nowhere_closes_the_connection(
    world: WiredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    data = PartitionProduceData(index=0, records=bytes(batch(b"x")))
    request = ProduceRequest(
        acks=0, topic_data=[TopicProduceData(name="nowhere", partition_data=[data])]
    )

    line = closed_with(world, world.connect(), frame(request, 9), caplog)

    assert "UNKNOWN_TOPIC_OR_PARTITION" in line

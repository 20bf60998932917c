"""Against a node of a few lines: versions, order, memory, and everything that can go wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from answering_node import AnsweringNode

from barnabas.client.node_connection import NodeConnection, NodeConnections
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.message import Message
from barnabas.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

RANGES = {ApiKey.METADATA: (0, 9), ApiKey.FETCH: (4, 99), ApiKey.CREATE_TOPICS: (90, 91)}
PATIENCE_S = 30.0


def metadata(request: Any) -> Message:
    return MetadataResponse(cluster_id="here")


class Caller:
    """A connection and what came of it."""

    def __init__(self, port: int) -> None:
        self.answers: list[Message | None] = []
        self.lost = 0
        self.was_lost = asyncio.Event()
        self.connection = NodeConnection(
            asyncio.get_running_loop(),
            host="127.0.0.1",
            port=port,
            client_id="broker-7",
            on_lost=self._on_lost,
        )

    def _on_lost(self) -> None:
        self.lost += 1
        self.was_lost.set()

    def ask(self, request: Message, *, timeout_s: float = PATIENCE_S) -> asyncio.Future[Any]:
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(response: Message | None) -> None:
            self.answers.append(response)
            answered.set_result(response)

        self.connection.send(request, done, timeout_s=timeout_s)
        return answered


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


def test_the_highest_version_that_both_know_is_used_and_the_client_says_who_it_is() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            caller = Caller(node.port)
            response = await caller.ask(MetadataRequest())
            assert response.cluster_id == "here"
            assert [version for version, _ in node.requests] == [9]
            assert node.client_ids == {"broker-7"}
            caller.connection.close()

    run(scenario())


def test_requests_may_be_sent_before_it_is_connected_and_are_answered_in_order() -> None:
    async def scenario() -> None:
        def count(request: Any) -> Message:
            return MetadataResponse(controller_id=len(node.requests))

        async with AnsweringNode(count, ranges=RANGES) as node:
            caller = Caller(node.port)
            waiting = [caller.ask(MetadataRequest()) for _ in range(50)]
            assert caller.connection.outstanding == 50
            await asyncio.gather(*waiting)
            assert [answer.controller_id for answer in caller.answers] == list(range(1, 51))  # type: ignore[union-attr]
            assert node.accepted == 1
            assert caller.connection.outstanding == 0
            caller.connection.close()

    run(scenario())


def test_records_stay_as_they_were_received_and_may_be_written_to() -> None:
    async def scenario() -> None:
        def fetched(request: Any) -> Message:
            fill = bytes([len(node.requests)]) * 300_000
            data = PartitionData(partition_index=0, records=fill)
            return FetchResponse(responses=[FetchableTopicResponse(partitions=[data])])

        async with AnsweringNode(fetched, ranges=RANGES) as node:
            caller = Caller(node.port)
            first, second = [caller.ask(FetchRequest()) for _ in range(2)]
            kept = (await first).responses[0].partitions[0].records
            later = (await second).responses[0].partitions[0].records
            assert bytes(kept) == b"\1" * 300_000
            assert bytes(later) == b"\2" * 300_000
            assert not kept.readonly
            caller.connection.close()

    run(scenario())


@pytest.mark.parametrize("request_", [OffsetForLeaderEpochRequest(), ()], ids=["unknown", "newer"])
def test_what_the_other_node_does_not_answer_is_answered_with_nothing(request_: Any) -> None:
    from barnabas.protocol.messages.create_topics import CreateTopicsRequest

    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            caller = Caller(node.port)
            assert await caller.ask(request_ or CreateTopicsRequest()) is None
            assert caller.connection.is_open
            assert await caller.ask(MetadataRequest()) is not None
            caller.connection.close()

    run(scenario())


def test_nobody_listening_is_an_answer_of_nothing_and_a_lost_connection() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            port = node.port
        caller = Caller(port)
        assert await caller.ask(MetadataRequest()) is None
        await caller.was_lost.wait()
        assert caller.lost == 1
        assert not caller.connection.is_open
        assert not caller.connection.was_ready

    run(scenario())


def test_a_connection_that_breaks_answers_everything_outstanding_with_nothing_then_says_so() -> (
    None
):
    async def scenario() -> None:
        async with AnsweringNode(lambda request: None, ranges=RANGES) as node:
            caller = Caller(node.port)
            first, second = caller.ask(MetadataRequest()), caller.ask(MetadataRequest())
            assert await first is None
            assert await second is None
            await caller.was_lost.wait()
            assert (caller.answers, caller.lost) == ([None, None], 1)
            assert await caller.ask(MetadataRequest()) is None

    run(scenario())


def test_an_answer_that_does_not_come_in_time_ends_the_connection() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            never = asyncio.get_running_loop().create_future()
            node.gate = never
            caller = Caller(node.port)
            patient = caller.ask(MetadataRequest())
            assert await caller.ask(MetadataRequest(), timeout_s=0.01) is None
            assert await patient is None
            await caller.was_lost.wait()
            assert not caller.connection.is_open
            never.cancel()

    run(scenario())


def test_an_answer_that_arrived_while_this_process_stood_still_is_not_late() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            caller = Caller(node.port)
            await caller.ask(MetadataRequest())
            gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            node.gate = gate
            answered = caller.ask(MetadataRequest(), timeout_s=0.01)
            time.sleep(0.05)  # the loop runs nothing meanwhile
            gate.set_result(None)
            assert await answered is not None
            caller.connection.close()

    run(scenario())


def test_closing_answers_what_is_outstanding_at_once_and_is_no_loss() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            caller = Caller(node.port)
            waiting = caller.ask(MetadataRequest())
            caller.connection.close()
            assert waiting.done()
            assert waiting.result() is None
            caller.connection.close()
            await asyncio.sleep(0)
            assert caller.lost == 0

    run(scenario())


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02ab",
        b"\x00\x00\x00\x08\x00\x00\x00\x63none",
        b"\x00\x00\x00\x06\x00\x00\x00\x01\x7f\x7f",
    ],
    ids=["negative length", "no header", "nobody asked", "truncated"],
)
def test_an_answer_that_makes_no_sense_ends_the_connection(nonsense: bytes) -> None:
    async def scenario() -> None:
        async with AnsweringNode(lambda request: nonsense, ranges=RANGES) as node:
            caller = Caller(node.port)
            assert await caller.ask(MetadataRequest()) is None
            await caller.was_lost.wait()
            assert caller.lost == 1

    run(scenario())


def test_a_callback_that_fails_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            caller = Caller(node.port)
            caller.connection.send(MetadataRequest(), lambda _: 1 / 0, timeout_s=PATIENCE_S)  # type: ignore[arg-type,return-value]
            assert await caller.ask(MetadataRequest()) is not None
            caller.connection.close()

    run(scenario())
    assert "ZeroDivisionError" in caplog.text


# By id.


class Nodes:
    def __init__(self) -> None:
        self.addresses: dict[int, tuple[str, int]] = {}
        self.connections = NodeConnections(
            asyncio.get_running_loop(), client_id="broker-1", address_of=self.addresses.get
        )

    async def ask(self, node_id: int) -> Any:
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.connections.send(node_id, MetadataRequest(), answered.set_result, timeout_s=PATIENCE_S)
        return await answered


def test_requests_to_a_node_share_a_connection_that_is_made_anew_when_it_broke() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            nodes = Nodes()
            nodes.addresses[2] = ("127.0.0.1", node.port)
            await asyncio.gather(nodes.ask(2), nodes.ask(2))
            assert node.accepted == 1
            lost: list[int] = []
            nodes.connections.on_lost = lost.append
            node.drop_all()
            while await nodes.ask(2) is None:  # the first one may still meet the broken connection
                pass
            assert node.accepted == 2
            assert lost == [2]
            nodes.connections.close()

    run(scenario())


def test_a_node_that_moved_is_asked_where_it_is_now() -> None:
    async def scenario() -> None:
        async with (
            AnsweringNode(metadata, ranges=RANGES) as old,
            AnsweringNode(lambda _: MetadataResponse(cluster_id="there"), ranges=RANGES) as new,
        ):
            nodes = Nodes()
            nodes.addresses[2] = ("127.0.0.1", old.port)
            assert (await nodes.ask(2)).cluster_id == "here"
            nodes.addresses[2] = ("127.0.0.1", new.port)
            assert (await nodes.ask(2)).cluster_id == "there"
            nodes.connections.close()

    run(scenario())


def test_a_node_that_nobody_knows_is_answered_with_nothing() -> None:
    async def scenario() -> None:
        nodes = Nodes()
        assert await nodes.ask(9) is None
        assert nodes.connections.open(9, lambda: None) is None

    run(scenario())


def test_a_node_that_was_not_reached_is_left_alone_for_a_while_then_tried_again() -> None:
    async def scenario() -> None:
        nodes = Nodes()
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            port = node.port
        nodes.addresses[2] = ("127.0.0.1", port)
        assert await nodes.ask(2) is None
        await asyncio.sleep(0)
        async with AnsweringNode(metadata, ranges=RANGES, port=port) as node:
            assert await nodes.ask(2) is None
            assert node.accepted == 0
            while await nodes.ask(2) is None:
                await asyncio.sleep(0.01)
            assert node.accepted == 1
        nodes.connections.close()


def test_a_node_that_was_not_reached_is_tried_at_once_where_it_is_now() -> None:
    async def scenario() -> None:
        nodes = Nodes()
        async with AnsweringNode(metadata, ranges=RANGES) as gone:
            nodes.addresses[2] = ("127.0.0.1", gone.port)
        assert await nodes.ask(2) is None
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            nodes.addresses[2] = ("127.0.0.1", node.port)
            assert await nodes.ask(2) is not None
            nodes.connections.close()

    run(scenario())


def test_a_node_that_was_dropped_is_tried_at_once() -> None:
    async def scenario() -> None:
        nodes = Nodes()
        async with AnsweringNode(metadata, ranges=RANGES) as gone:
            nodes.addresses[2] = ("127.0.0.1", gone.port)
        assert await nodes.ask(2) is None
        async with AnsweringNode(metadata, ranges=RANGES, port=gone.port):
            nodes.connections.drop(2)
            assert await nodes.ask(2) is not None
            nodes.connections.close()

    run(scenario())


def test_a_connection_of_ones_own_is_apart_from_the_shared_one() -> None:
    async def scenario() -> None:
        async with AnsweringNode(metadata, ranges=RANGES) as node:
            nodes = Nodes()
            nodes.addresses[2] = ("127.0.0.1", node.port)
            await nodes.ask(2)
            own = nodes.connections.open(2, lambda: None)
            assert own is not None
            answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            own.send(MetadataRequest(), answered.set_result, timeout_s=PATIENCE_S)
            assert await answered is not None
            assert node.accepted == 2
            own.close()
            nodes.connections.close()

    run(scenario())

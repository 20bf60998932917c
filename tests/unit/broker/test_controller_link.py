"""The way to the controller: which of several it is, and what is tried next."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from answering_node import AnsweringNode

from barnabas.base.errors import ErrorCode
from barnabas.base.settings import BrokerConfig
from barnabas.broker.controller_link import Candidates, ControllerLink, candidates
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.message import Message
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)

PATIENCE_S = 30
RANGES = {ApiKey.BROKER_HEARTBEAT: (0, 1)}


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, PATIENCE_S))


def answering(error_code: int) -> AnsweringNode:
    def respond(request: Any) -> Message:
        return BrokerHeartbeatResponse(error_code=error_code)

    return AnsweringNode(respond, ranges=RANGES)


def link_to(*ports: int) -> ControllerLink:
    return ControllerLink(
        asyncio.get_running_loop(),
        Candidates([("127.0.0.1", port) for port in ports]),
        client_id="broker-1",
        timeout_s=PATIENCE_S,
        retry_s=0.001,
    )


async def found(link: ControllerLink) -> Any:
    """The first answer that is not a refusal."""
    while (response := await link.ask(BrokerHeartbeatRequest())) is None or response.error_code:
        await asyncio.sleep(link.retry_s)
    return response


def test_settings_name_the_controllers_by_servers_or_by_voters() -> None:
    def named(**settings: str) -> list[tuple[str, int]]:
        return candidates(
            BrokerConfig.from_properties({k.replace("_", "."): v for k, v in settings.items()})
        )

    servers = "one:1,[::1]:2"
    assert named(controller_quorum_bootstrap_servers=servers) == [("one", 1), ("::1", 2)]
    assert named(controller_quorum_voters="7@one:1,8@two:2") == [("one", 1), ("two", 2)]


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.MISMATCHED_ENDPOINT_TYPE])
def test_who_is_not_the_controller_is_left_for_the_next(code: ErrorCode) -> None:
    async def scenario() -> None:
        async with answering(code) as deposed, answering(0) as elected:
            link = link_to(deposed.port, elected.port)
            await found(link)
            await found(link)
            assert len(deposed.requests) == 1
            assert len(elected.requests) == 2
            link.close()

    run(scenario())


def test_who_is_not_reached_is_left_for_the_next_and_found_again() -> None:
    async def scenario() -> None:
        async with answering(0) as gone:
            pass
        async with answering(0) as there:
            link = link_to(gone.port, there.port)
            await found(link)
            assert len(there.requests) == 1
        async with AnsweringNode(
            lambda _: BrokerHeartbeatResponse(), ranges=RANGES, port=gone.port
        ):
            await found(link)
            link.close()

    run(scenario())


def test_following_does_not_hold_up_requests() -> None:
    async def scenario() -> None:
        async with answering(0) as node:
            link = link_to(node.port)
            followed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            link.follow(BrokerHeartbeatRequest(), followed.set_result)
            await found(link)
            await followed
            assert node.accepted == 2
            link.close()

    run(scenario())

"""Is anybody there?  On real sockets of this machine, under names that the test resolves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker import probing
from barnabas.broker.probing import is_dead, refuses

HERE, ALSO_HERE = "127.0.0.1", "127.0.0.2"
NOWHERE = "255.255.255.255"
"""An address that no connection can be made to: the operating system says so at once."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((HERE, 0)) as made:
        yield made


def probe(port: int, *addresses: str) -> bool:
    """Whether the host that has these addresses refuses connections to `port`."""

    async def scenario() -> bool:
        loop: Any = asyncio.get_running_loop()

        async def getaddrinfo(host: str, port: int, **_: object) -> list[Any]:
            assert host == "broker-1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in addresses]

        loop.getaddrinfo = getaddrinfo
        return await refuses(loop, ("broker-1", port))

    return asyncio.run(asyncio.wait_for(scenario(), 60))


def test_a_port_that_refuses_at_every_address_refuses(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    assert probe(port, HERE)
    assert probe(port, HERE, ALSO_HERE)


def test_a_port_that_is_listened_to_at_one_address_does_not(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert not probe(port, HERE)
    assert not probe(port, ALSO_HERE, HERE)
    assert not probe(port, HERE, ALSO_HERE)


def test_an_address_that_cannot_be_reached_says_nothing(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert not probe(port, NOWHERE)
    assert not probe(port, NOWHERE, HERE)
    assert probe(port, NOWHERE, ALSO_HERE)


def test_a_name_that_nobody_knows_says_nothing() -> None:
    async def scenario() -> bool:
        loop: Any = asyncio.get_running_loop()

        async def getaddrinfo(*_: object, **__: object) -> list[Any]:
            raise socket.gaierror("no such host")

        loop.getaddrinfo = getaddrinfo
        return await refuses(loop, ("broker-1", 9092))

    assert not asyncio.run(scenario())


def test_silence_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "PROBE_S_MAX", 0.01)

    async def scenario() -> bool:
        loop: Any = asyncio.get_running_loop()

        async def create_connection(*_: object) -> None:
            await asyncio.Event().wait()

        loop.create_connection = create_connection
        return await refuses(loop, (HERE, 9092))

    assert not asyncio.run(scenario())


class Answers:
    """A loop whose connections are refused or accepted as the test says, one after the other."""

    def __init__(self, loop: Any, *answers: bool) -> None:
        self._loop = loop
        self._answers = list(answers)

    async def getaddrinfo(self, host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]

    async def create_connection(self, *_: object) -> Any:
        if self._answers.pop(0):
            raise ConnectionRefusedError
        return asyncio.WriteTransport(), None


@pytest.mark.parametrize(
    ("refusals", "dead"),
    [
        ((True, True), True),
        ((True, False), False),
        ((False, False), False),
        ((False, True, True), True),
        ((False, True, False), False),
    ],
    ids=["dead", "back at once", "alive", "dying", "busy"],
)
def test_a_process_is_dead_if_its_port_goes_on_refusing(
    monkeypatch: pytest.MonkeyPatch, refusals: tuple[bool, ...], dead: bool
) -> None:
    monkeypatch.setattr(asyncio.WriteTransport, "close", lambda _: None)

    async def scenario() -> bool:
        loop: Any = Answers(asyncio.get_running_loop(), *refusals)
        found = await is_dead(loop, [(HERE, 9092)], grace_s=0)
        assert loop._answers == [], "all that was to be asked"
        return found

    assert asyncio.run(scenario()) is dead


def test_a_process_with_several_listeners_is_dead_if_all_refuse(listener: socket.socket) -> None:
    port = listener.getsockname()[1]

    async def scenario() -> list[bool]:
        loop = asyncio.get_running_loop()
        return [
            await is_dead(loop, places, grace_s=0)
            for places in ([], [(ALSO_HERE, port)], [(ALSO_HERE, port), (HERE, port)])
        ]

    assert asyncio.run(scenario()) == [False, True, False]

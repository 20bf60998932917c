"""Limits on connections, and listening sockets that open and close."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from small_broker import LISTENER, SmallBroker

from barnabas.base.settings import BrokerConfig
from barnabas.broker.dispatch import load_handlers
from barnabas.broker.listeners import BoundListener
from barnabas.broker.net.requests import Requests
from barnabas.broker.net.server import BACKLOG_MIN, Server
from barnabas.broker.net.turn import Turn
from barnabas.protocol.apis import ApiKey


@dataclass(eq=False)
class Peer:
    """A connection as the server sees it."""

    peer_host: str = "10.0.0.1"
    last_active: float = 0.0
    is_closed: bool = False
    listener: BoundListener = LISTENER

    def close(self, *, now: bool = False) -> None:
        self.is_closed = True


def config(**settings: str) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            "listeners": "PLAINTEXT://:9092,INSIDE://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )


def server(**settings: str) -> Any:
    return Server(None, None, config(**settings))  # type: ignore[arg-type]


def admitted(server: Any, *hosts: str) -> list[bool]:
    return [server.admit(Peer(host)) for host in hosts]


def test_a_connection_above_the_limit_is_refused() -> None:
    limited = server(max_connections="2")

    assert admitted(limited, "a", "b", "c") == [True, True, False]


def test_a_connection_above_the_limit_of_its_address_is_refused() -> None:
    limited = server(max_connections_per_ip="2")

    assert admitted(limited, "a", "a", "b", "a", "b") == [True, True, True, False, True]


def test_an_address_may_have_a_limit_of_its_own() -> None:
    limited = server(
        max_connections_per_ip="1", max_connections_per_ip_overrides="127.0.0.1:3,127.0.0.2:0"
    )

    assert admitted(limited, *["127.0.0.1"] * 4) == [True, True, True, False]
    assert admitted(limited, "127.0.0.2", "127.0.0.3", "127.0.0.3") == [False, True, False]


def test_a_listener_may_have_a_limit_of_its_own() -> None:
    limited = server(max_connections="3", listener_name_inside_max_connections="1")
    inside = replace(LISTENER, name="INSIDE")

    assert limited.admit(Peer(listener=inside))
    assert not limited.admit(Peer(listener=inside))
    assert limited.admit(Peer())
    assert not limited.admit(Peer())


def test_a_connection_that_ends_makes_room_for_another() -> None:
    limited = server(max_connections="1")
    first, second = Peer(), Peer()
    assert limited.admit(first)
    assert not limited.admit(second)
    limited.forget(second)
    limited.forget(first)
    assert limited.connection_count == 0

    assert limited.admit(Peer())


def test_forgetting_twice_counts_once() -> None:
    limited = server(max_connections_per_ip="2")
    peers = [Peer(), Peer()]
    for peer in peers:
        assert limited.admit(peer)

    for _ in range(2):
        limited.forget(peers[0])

    assert admitted(limited, "10.0.0.1", "10.0.0.1") == [True, False]


def test_limits_can_be_changed_while_it_runs() -> None:
    limited = server(max_connections="1")
    assert admitted(limited, "a") == [True]

    limited.configure(config(max_connections="2", queued_max_requests="7"))

    assert admitted(limited, "a", "a") == [True, False]
    assert limited.queued_parts_max == 7


def test_idle_connections_are_closed_and_busy_ones_are_not() -> None:
    limited = server(connections_max_idle_ms="60000")
    idle, busy = Peer(last_active=100.0), Peer(last_active=150.0)
    for peer in (idle, busy):
        limited.admit(peer)

    limited.close_idle(160.0)
    assert not idle.is_closed
    limited.close_idle(160.1)

    assert (idle.is_closed, busy.is_closed) == (True, False)


def test_socket_buffers_are_set_only_when_asked_for() -> None:
    with socket.socket() as sock:
        before = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        server().tune(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == before
        server(socket_receive_buffer_bytes="-1").tune(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == before

        server(socket_receive_buffer_bytes="8192").tune(sock)

        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * 8192  # Linux doubles it


def test_the_accept_queue_is_never_shorter_than_many_clients_at_once_need() -> None:
    class Loop:
        async def create_server(self, factory: Any, *, sock: Any, backlog: int) -> int:
            return backlog

    async def backlog(**settings: str) -> int:
        made = server(**settings)
        made.turn = type("Turn", (), {"loop": Loop()})
        await made.listen(None, None)
        chosen: int = made._servers[0]
        return chosen

    assert asyncio.run(backlog()) == BACKLOG_MIN
    assert asyncio.run(backlog(socket_listen_backlog_size="4000")) == 4000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SmallBroker]:
    made = SmallBroker(tmp_path)
    yield made
    made.close()


def test_it_answers_on_its_socket_until_it_is_closed(world: SmallBroker) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        turn = Turn(loop, world.replicas, world.clock)
        served = Server(turn, Requests(world.broker, load_handlers()), world.config)
        sock = socket.create_server(("127.0.0.1", 0))
        address = sock.getsockname()
        await served.listen(sock, LISTENER)
        reader, writer = await asyncio.open_connection(*address)
        writer.write(bytes.fromhex("0000000a 0012 0000 00000009 ffff".replace(" ", "")))
        size = int.from_bytes(await reader.readexactly(4), "big")
        answer = await reader.readexactly(size)
        assert int.from_bytes(answer[:4], "big") == 9
        assert served.connection_count == 1

        served.stop_accepting()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*address)
        served.close_all()
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        turn.stop()
        assert served.connection_count == 0

    assert ApiKey.API_VERSIONS == 0x12
    asyncio.run(scenario())


@pytest.mark.parametrize("already_closing", [False, True])
def test_an_idle_client_that_does_not_read_its_answers_is_closed_too(
    tmp_path: Path, already_closing: bool
) -> None:
    world = SmallBroker(tmp_path, socket_send_buffer_bytes="4096", connections_max_idle_ms="1000")

    async def scenario() -> None:
        turn = Turn(asyncio.get_running_loop(), world.replicas, world.clock)
        served = Server(turn, Requests(world.broker, load_handlers()), world.config)
        sock = socket.create_server(("127.0.0.1", 0))
        served.tune(sock)
        await served.listen(sock, LISTENER)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(sock.getsockname())
            client.sendall(bytes.fromhex("0000000a0012000000000009ffff") * 400)
            while not served._connections:
                await asyncio.sleep(0)
            (connection,) = served._connections
            while connection._outlet.writable:
                await asyncio.sleep(0)
            if already_closing:
                connection.close()

            served.close_idle(connection.last_active + 2)

            for _ in range(3):  # the transport tells of its end in a later turn
                await asyncio.sleep(0)
            assert served.connection_count == 0
        served.stop_accepting()
        turn.stop()

    asyncio.run(scenario())
    world.close()

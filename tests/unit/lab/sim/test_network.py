"""Connections in memory keep TCP's promises, and break as real ones do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from barnabas.lab.sim.loop import VirtualLoop
from barnabas.lab.sim.network import Network
from barnabas.lab.sim.process import Process


class Peer(asyncio.Protocol):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.pieces = 0
        self.lost: list[Exception | None] = []
        self.paused = 0
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.pieces += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)

    def pause_writing(self) -> None:
        self.paused += 1

    def resume_writing(self) -> None:
        self.paused -= 1


class Wires:
    """A server on one machine, a client on another."""

    def __init__(self, seed: int = 1) -> None:
        self.loop = VirtualLoop(Random(seed))
        self.network = Network(self.loop, Random(seed))
        self.server_process = Process("server")
        self.client_process = Process("client")
        for process in (self.server_process, self.client_process):
            process.on_end.append(
                lambda power, p=process: self.network.ended(p, power_lost=power)  # type: ignore[misc]
            )
        self.accepted: list[Peer] = []
        self.client = Peer()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run(work)

    def _accept(self) -> Peer:
        self.accepted.append(Peer())
        return self.accepted[-1]

    async def listen(self) -> None:
        async def serve() -> None:
            sock = self.network.bind("server", 9092)
            await self.loop.create_server(self._accept, sock=sock)

        await self.loop.create_task(serve(), context=self.server_process.context())

    async def connect(self) -> None:
        async def call() -> None:
            await self.loop.create_connection(lambda: self.client, "server", 9092)

        await self.loop.create_task(call(), context=self.client_process.context())
        await asyncio.sleep(0.5)

    @property
    def server(self) -> Peer:
        return self.accepted[-1]


@pytest.fixture
def wires() -> Wires:
    return Wires()


def test_bytes_arrive_in_order_both_ways(wires: Wires) -> None:
    async def talk() -> None:
        await wires.listen()
        await wires.connect()
        for number in range(200):
            wires.client.transport.write(b"%03d" % number)
        wires.server.transport.write(b"welcome")
        await asyncio.sleep(5)

    wires.run(talk())
    assert bytes(wires.server.received) == b"".join(b"%03d" % n for n in range(200))
    assert wires.server.pieces < 200
    assert bytes(wires.client.received) == b"welcome"


def test_a_close_is_seen_after_what_was_written(wires: Wires) -> None:
    async def talk() -> None:
        await wires.listen()
        await wires.connect()
        wires.client.transport.write(b"last words")
        wires.client.transport.close()
        await asyncio.sleep(5)

    wires.run(talk())
    assert bytes(wires.server.received) == b"last words"
    assert wires.server.lost == [None]
    assert wires.client.lost == [None]


def test_nobody_listens_means_refused(wires: Wires) -> None:
    async def talk() -> None:
        with pytest.raises(ConnectionRefusedError):
            await wires.connect()

    wires.run(talk())


def test_a_cut_link_holds_bytes_until_it_heals_or_the_connection_breaks() -> None:
    outcomes = set()
    for seed in range(12):
        wires = Wires(seed)

        async def talk(wires: Wires = wires) -> None:
            await wires.listen()
            await wires.connect()
            wires.network.cut("client", "server")
            wires.client.transport.write(b"held")
            await asyncio.sleep(10)
            assert not wires.server.received
            wires.network.heal()
            await asyncio.sleep(1)

        wires.run(talk())
        outcomes.add((bytes(wires.server.received), len(wires.client.lost)))
    assert outcomes == {(b"held", 0), (b"", 1)}


def test_connecting_over_a_cut_link_times_out(wires: Wires) -> None:
    async def talk() -> None:
        await wires.listen()
        wires.network.cut("client", "server")
        with pytest.raises(TimeoutError):
            await wires.connect()

    wires.run(talk())


def test_a_killed_process_resets_its_connections(wires: Wires) -> None:
    async def talk() -> None:
        await wires.listen()
        await wires.connect()
        wires.server_process.kill()
        await asyncio.sleep(1)
        assert [type(error) for error in wires.client.lost] == [ConnectionResetError]
        with pytest.raises(ConnectionRefusedError):
            await wires.connect()

    wires.run(talk())
    assert wires.server.lost == []  # the dead are told nothing


def test_a_machine_without_power_is_silent_until_it_is_back(wires: Wires) -> None:
    async def talk() -> None:
        await wires.listen()
        await wires.connect()
        wires.server_process.kill(power_lost=True)
        wires.client.transport.write(b"anybody there?")
        await asyncio.sleep(30)
        assert wires.client.lost == []
        wires.network.back("server")
        await asyncio.sleep(1)

    wires.run(talk())
    assert [type(error) for error in wires.client.lost] == [ConnectionResetError]


def test_a_reader_that_does_not_read_stops_the_writer(wires: Wires) -> None:
    async def talk() -> None:
        await wires.listen()
        await wires.connect()
        wires.server.transport.pause_reading()
        for _ in range(10):
            wires.client.transport.write(bytes(100_000))
        await asyncio.sleep(1)
        assert wires.client.paused == 1
        wires.server.transport.resume_reading()
        await asyncio.sleep(1)

    wires.run(talk())
    assert wires.client.paused == 0
    assert len(wires.server.received) == 1_000_000


def test_an_address_is_bound_once_while_its_process_lives(wires: Wires) -> None:
    async def bind() -> None:
        await wires.listen()
        with pytest.raises(OSError, match="in use"):
            await wires.listen()
        wires.server_process.kill()
        wires.server_process = Process("server", 2)
        await wires.listen()

    wires.run(bind())

"""The simulated ZooKeeper: transactions, sessions that end, clients that are the last to know."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from barnabas.controller.zookeeper import (
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Put,
    SessionGone,
    SessionState,
)
from barnabas.lab.sim.loop import VirtualLoop
from barnabas.lab.sim.network import Network
from barnabas.lab.sim.process import Process
from barnabas.lab.sim.zookeeper import MACHINE, SimZooKeeper, SimZooKeeperServer

TIMEOUT_S = 6.0


class Quorum:
    """A server, and clients on machines of their own."""

    def __init__(self) -> None:
        self.loop = VirtualLoop(Random(1))
        self.network = Network(self.loop, Random(1))
        self.server = SimZooKeeperServer(self.network)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run(work)

    async def client(self, process: Process) -> SimZooKeeper:
        async def begin() -> SimZooKeeper:
            made = SimZooKeeper(self.server, timeout_s=TIMEOUT_S)
            await made.start()
            return made

        made: SimZooKeeper = await self.loop.create_task(begin(), context=process.context())
        return made

    async def by(self, process: Process, work: Coroutine[Any, Any, Any]) -> Any:
        return await self.loop.create_task(work, context=process.context())


@pytest.fixture
def quorum() -> Quorum:
    return Quorum()


def test_a_transaction_is_done_whole_or_not_at_all(quorum: Quorum) -> None:
    async def work() -> None:
        zk = await quorum.client(Process("a"))
        await zk.write(Create("/x", b"1"), Create("/x/y", b"2"))
        with pytest.raises(BadVersion):
            await zk.write(Put("/x", b"9"), Check("/x/y", 7))
        with pytest.raises(NodeExists):
            await zk.write(Delete("/x/y"), Create("/x", b""))
        with pytest.raises(NotEmpty):
            await zk.write(Delete("/x"))
        with pytest.raises(NoNode):
            await zk.write(Create("/no/parent", b""))
        assert await zk.read(["/x", "/x/y"]) == [b"1", b"2"]
        assert await zk.children("/x") == ["y"]
        node = await zk.look("/x")
        assert node is not None
        assert node.version == 0

    quorum.run(work())


def test_a_dead_process_loses_its_session_and_what_it_held(quorum: Quorum) -> None:
    process = Process("a")
    seen: list[str] = []

    async def work() -> None:
        zk = await quorum.client(process)
        other = await quorum.client(Process("b"))
        await quorum.by(process, zk.write(Create("/held", b"", ephemeral=True)))
        await other.look("/held", watch=lambda: seen.append("changed"))
        process.kill()
        await asyncio.sleep(TIMEOUT_S / 2)
        assert await other.look("/held") is not None
        assert seen == []
        await asyncio.sleep(TIMEOUT_S)
        assert await other.look("/held") is None
        assert seen == ["changed"]

    quorum.run(work())


def test_who_was_paused_too_long_finds_its_session_gone(quorum: Quorum) -> None:
    process = Process("a")
    states: list[SessionState] = []

    async def work() -> None:
        zk = await quorum.client(process)
        zk.listen(states.append)
        first = zk.session
        writing = quorum.loop.create_task(_late(zk), context=process.context())
        process.paused_until = quorum.loop.time() + 2 * TIMEOUT_S
        await asyncio.sleep(3 * TIMEOUT_S)
        assert (await writing) is SessionGone
        assert zk.session != first

    async def _late(zk: SimZooKeeper) -> type[Exception] | None:
        try:
            await zk.write(Create("/late", b""))
        except SessionGone as error:
            return type(error)
        return None

    quorum.run(work())
    assert states[-2:] == [SessionState.GONE, SessionState.CONNECTED]


def test_what_is_asked_over_a_cut_link_may_or_may_not_be_done(quorum: Quorum) -> None:
    process = Process("a")

    async def work() -> None:
        zk = await quorum.client(process)
        watched: list[str] = []
        await quorum.by(process, zk.look("/w", watch=lambda: watched.append("?")))
        quorum.network.cut("a", MACHINE)
        with pytest.raises(ConnectionLost):
            await quorum.by(process, zk.write(Create("/lost", b"")))
        await asyncio.sleep(1)
        assert watched == ["?"]
        quorum.network.heal()
        await quorum.by(process, zk.connected())
        assert await quorum.by(process, zk.look("/lost")) is None

    quorum.run(work())


def test_an_outage_ends_no_session(quorum: Quorum) -> None:
    process = Process("a")

    async def work() -> None:
        zk = await quorum.client(process)
        await quorum.by(process, zk.write(Create("/held", b"", ephemeral=True)))
        session = zk.session
        quorum.server.is_down = True
        await asyncio.sleep(5 * TIMEOUT_S)
        quorum.server.is_down = False
        assert await quorum.by(process, zk.look("/held")) is not None
        assert zk.session == session

    quorum.run(work())

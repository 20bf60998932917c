from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from memory_zookeeper import MemoryServer, MemoryZooKeeper

from barnabas.base.errors import StorageFailed
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.zookeeper import ConnectionLost, Create, Put, Step
from barnabas.controller.zookeeper_claim import (
    Deposed,
    Holder,
    check_claim,
    claim,
    look_at_controller,
    resign,
)
from barnabas.controller.zookeeper_layout import ControllerNode, Endpoint


def node(node_id: int) -> ControllerNode:
    point = Endpoint(
        listener="INSIDE", security_protocol="PLAINTEXT", host="h", port=9000 + node_id
    )
    return ControllerNode(node_id=node_id, endpoints=(point,))


def test_the_first_candidate_wins_and_all_see_who_it_is() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one, two = MemoryZooKeeper(server), MemoryZooKeeper(server)
        won = await claim(one, node(1), now_ms=5)
        assert won is not None
        assert (won.epoch, won.session) == (1, one.session)
        assert await claim(two, node(2), now_ms=6) is None
        assert await look_at_controller(two) == Holder(node=node(1), session=one.session)
        assert server.nodes[layout.CONTROLLER_EPOCH].data == b"1"
        await check_claim(one, won)

    asyncio.run(scenario())


def test_candidates_at_the_same_time_have_one_winner() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        sessions = [MemoryZooKeeper(server) for _ in range(5)]
        for zk in sessions:
            plain = zk.look

            async def slow(path: str, *, watch=None, plain=plain):  # type: ignore[no-untyped-def]
                found = await plain(path, watch=watch)
                await asyncio.sleep(0)
                return found

            zk.look = slow  # type: ignore[method-assign]
        claims = await asyncio.gather(
            *(claim(zk, node(n), now_ms=0) for n, zk in enumerate(sessions))
        )
        assert sum(won is not None for won in claims) == 1

    asyncio.run(scenario())


def test_when_the_session_ends_the_next_epoch_begins() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one, two = MemoryZooKeeper(server), MemoryZooKeeper(server)
        first = await claim(one, node(1), now_ms=0)
        assert first is not None
        called: list[str] = []
        await look_at_controller(two, watch=lambda: called.append("changed"))
        one.disconnect()
        one.expire()
        await asyncio.sleep(0)
        assert called == ["changed"]
        assert await look_at_controller(two) is None

        second = await claim(two, node(2), now_ms=0)
        assert second is not None
        assert second.epoch == first.epoch + 1
        one.come_back()
        with pytest.raises(Deposed):
            await check_claim(one, first)

    asyncio.run(scenario())


def test_a_dead_controller_can_be_deposed_before_its_session_ends() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one, two = MemoryZooKeeper(server), MemoryZooKeeper(server)
        first = await claim(one, node(1), now_ms=0)
        assert first is not None
        dead = await look_at_controller(two)
        second = await claim(two, node(2), now_ms=0, instead_of=dead)
        assert second is not None
        assert second.epoch == 2
        with pytest.raises(Deposed):
            await check_claim(one, first)

    asyncio.run(scenario())


def test_only_the_controller_that_is_meant_is_deposed() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one, two, three = (MemoryZooKeeper(server) for _ in range(3))
        await claim(one, node(1), now_ms=0)
        dead = await look_at_controller(three)
        one.expire()
        second = await claim(two, node(2), now_ms=0)
        assert second is not None
        assert await claim(three, node(3), now_ms=0, instead_of=dead) is None
        await check_claim(two, second)

    asyncio.run(scenario())


def test_a_deposition_that_comes_too_late_changes_nothing() -> None:
    """Between looking and writing, the dead one's session ends and another is elected."""

    async def scenario() -> None:
        server = MemoryServer()
        one, two, three = (MemoryZooKeeper(server) for _ in range(3))
        await claim(one, node(1), now_ms=0)
        dead = await look_at_controller(three)

        def elected_meanwhile(steps: Sequence[Step]) -> None:
            one.expire()
            epoch = server.nodes[layout.CONTROLLER_EPOCH]
            server.write(
                [
                    Put(layout.CONTROLLER_EPOCH, b"2", epoch.version),
                    Create(layout.CONTROLLER, node(2).encode(0), ephemeral=True),
                ],
                two.session,
            )

        three.on_write = elected_meanwhile
        assert await claim(three, node(3), now_ms=0, instead_of=dead) is None
        assert await look_at_controller(two) == Holder(node=node(2), session=two.session)

    asyncio.run(scenario())


def test_a_candidate_whose_answer_was_lost_finds_itself_elected_and_claims_anew() -> None:
    async def scenario() -> None:
        zk = MemoryZooKeeper(MemoryServer())
        await claim(zk, node(1), now_ms=0)
        await resign_all(zk)
        zk.on_write = lambda steps: True
        with pytest.raises(ConnectionLost):
            await claim(zk, node(1), now_ms=0)
        zk.on_write = lambda steps: None
        zk.reconnect()
        mine = await look_at_controller(zk)
        assert mine is not None
        assert mine.session == zk.session
        won = await claim(zk, node(1), now_ms=0, instead_of=mine)
        assert won is not None
        assert won.epoch == 3
        await check_claim(zk, won)

    async def resign_all(zk: MemoryZooKeeper) -> None:
        del zk.server.nodes[layout.CONTROLLER]

    asyncio.run(scenario())


def test_who_resigns_leaves_the_place_at_once() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one, two = MemoryZooKeeper(server), MemoryZooKeeper(server)
        first = await claim(one, node(1), now_ms=0)
        assert first is not None
        await resign(one, first)
        second = await claim(two, node(2), now_ms=0)
        assert second is not None
        await resign(one, first)
        await check_claim(two, second)
        assert await look_at_controller(one) is not None

    asyncio.run(scenario())


def test_an_epoch_that_is_no_number_is_refused() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        server.write([Create(layout.CONTROLLER_EPOCH, b"seven")], 0)
        with pytest.raises(StorageFailed, match="no number"):
            await claim(MemoryZooKeeper(server), node(1), now_ms=0)

    asyncio.run(scenario())

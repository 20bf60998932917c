"""One node's part in the election, with a ZooKeeper in memory and real sockets to be refused by."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from memory_zookeeper import MemoryServer, MemoryZooKeeper

from barnabas.base.clock import SYSTEM_CLOCK
from barnabas.broker.election import Election
from barnabas.broker.membership import CannotJoin
from barnabas.broker.zookeeper_part import agree_on_cluster_id
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.zookeeper import Create, NotPermitted, Put
from barnabas.controller.zookeeper_journal import ZooKeeperJournal
from barnabas.controller.zookeeper_layout import ControllerNode, Endpoint
from barnabas.protocol.messages import metadata_records as mr

WAIT_S = 20


class Candidate:
    """A node that stands, and what became of it."""

    def __init__(
        self, server: MemoryServer, node_id: int, *, port: int = 9092, is_candidate: bool = True
    ) -> None:
        self.zk = MemoryZooKeeper(server)
        self.journal: ZooKeeperJournal | None = None
        self.said: list[object] = []
        self._news = asyncio.Event()
        point = Endpoint(listener="IN", security_protocol="PLAINTEXT", host="127.0.0.1", port=port)
        self.election = Election(
            self.zk,
            asyncio.get_running_loop(),
            me=ControllerNode(node_id=node_id, endpoints=(point,)),
            listener="IN",
            clock=SYSTEM_CLOCK,
            grace_s=0.01,
            on_elected=self._elected,
            on_deposed=self._deposed,
            is_candidate=is_candidate,
        )
        self.election.start()

    def _elected(self, journal: ZooKeeperJournal, dead: int | None) -> None:
        self.journal = journal
        self._say(("elected", dead))

    def _deposed(self) -> None:
        self.journal = None
        self._say("deposed")

    def _say(self, what: object) -> None:
        self.said.append(what)
        self._news.set()

    async def has_said(self, *wanted: object) -> None:
        while self.said != list(wanted):
            self._news.clear()
            await self._news.wait()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, WAIT_S))


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0)


def refusing_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def test_one_of_several_is_elected_and_the_others_know_where_it_is() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        nodes = [Candidate(server, n, port=9000 + n) for n in range(3)]
        await until(lambda: all(node.election.address() is not None for node in nodes))
        await until(lambda: any(node.said for node in nodes))
        winners = [n for n, node in enumerate(nodes) if node.said]
        assert len(winners) == 1
        for node in nodes:
            assert node.election.address() == ("127.0.0.1", 9000 + winners[0])
        assert nodes[winners[0]].election.epoch == 1
        for node in nodes:
            await node.election.stop()

    run(scenario())


def test_when_the_controllers_session_ends_another_is_elected() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one = Candidate(server, 1)
        await one.has_said(("elected", None))
        two = Candidate(server, 2, port=9002)
        await until(lambda: two.election.address() == ("127.0.0.1", 9092))
        one.zk.disconnect()
        one.zk.expire()
        await two.has_said(("elected", None))
        assert one.said == [("elected", None)], "it cannot know yet"
        one.zk.come_back()
        await one.has_said(("elected", None), "deposed")
        await until(lambda: one.election.address() == ("127.0.0.1", 9002))
        await one.election.stop()
        await two.election.stop()

    run(scenario())


def test_a_lost_connection_alone_changes_nothing() -> None:
    async def scenario() -> None:
        one = Candidate(MemoryServer(), 1)
        await one.has_said(("elected", None))
        one.zk.disconnect()
        await asyncio.sleep(0.01)
        one.zk.reconnect()
        await asyncio.sleep(0.01)
        assert one.said == [("elected", None)]
        assert one.election.epoch == 1
        await one.election.stop()

    run(scenario())


def test_who_stops_is_followed_at_once() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one = Candidate(server, 1)
        await one.has_said(("elected", None))
        two = Candidate(server, 2)
        await until(lambda: two.election.address() is not None)
        await one.election.stop()
        assert one.said == [("elected", None), "deposed"]
        await two.has_said(("elected", None))
        await two.election.stop()

    run(scenario())


def test_a_controller_whose_port_refuses_connections_is_replaced_before_its_session_ends() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        dead = Candidate(server, 7, port=refusing_port())
        await dead.has_said(("elected", None))
        two = Candidate(server, 2)
        await until(lambda: two.election.address() is not None)
        address = two.election.address()
        assert address is not None
        two.election.not_there(address)
        await two.has_said(("elected", 7))
        await dead.has_said(("elected", None), "deposed")
        await until(lambda: dead.election.address() == ("127.0.0.1", 9092))
        await two.election.stop()
        await dead.election.stop()

    run(scenario())


def test_a_controller_that_accepts_connections_is_not_replaced() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            one = Candidate(server, 1, port=listener.getsockname()[1])
            await one.has_said(("elected", None))
            two = Candidate(server, 2)
            await until(lambda: two.election.address() is not None)
            address = two.election.address()
            assert address is not None
            two.election.not_there(address)
            two.election.not_there(("127.0.0.1", 1))
            probing = two.election._probing
            assert probing is not None
            await probing
            await asyncio.sleep(0.05)
            assert two.said == []
            assert one.said == [("elected", None)]
            await two.election.stop()
            await one.election.stop()

    run(scenario())


def test_a_process_that_follows_a_dead_one_of_the_same_node_takes_its_place_at_once() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        former = Candidate(server, 1)
        await former.has_said(("elected", None))
        former.zk.disconnect()
        again = Candidate(server, 1)
        await again.has_said(("elected", None))
        assert again.election.epoch == 2
        await again.election.stop()

    run(scenario())


def test_two_nodes_of_the_same_id_and_address_do_not_depose_each_other_in_turn() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one, two = Candidate(server, 1), Candidate(server, 1)
        await until(lambda: len(one.said) + len(two.said) >= 1)
        await asyncio.sleep(0.05)
        assert len(one.said) + len(two.said) <= 3
        await one.election.stop()
        await two.election.stop()

    run(scenario())


def test_who_may_not_be_elected_only_watches() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        broker = Candidate(server, 1, is_candidate=False)
        await asyncio.sleep(0.01)
        assert broker.election.address() is None
        two = Candidate(server, 2)
        await two.has_said(("elected", None))
        await until(lambda: broker.election.address() is not None)
        await two.election.stop()
        await until(lambda: broker.election.address() is None)
        assert broker.said == []
        await broker.election.stop()

    run(scenario())


def test_a_fenced_write_makes_the_controller_look_and_step_down() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one = Candidate(server, 1)
        await one.has_said(("elected", None))
        assert one.journal is not None
        other = MemoryZooKeeper(server)
        del server.nodes[layout.CONTROLLER]  # no watch is called: the news is on its way
        server.write(
            [
                Put(layout.CONTROLLER_EPOCH, b"2"),
                Create(layout.CONTROLLER, ControllerNode(node_id=2, endpoints=()).encode(0), True),
            ],
            other.session,
        )
        one.zk.server._watches.clear()
        one.journal.append([mr.FeatureLevelRecord(name="f", feature_level=1)], now_ms=0)
        refused: list[BaseException | None] = []
        one.journal.commit(refused.append)
        await one.has_said(("elected", None), "deposed")
        assert len(refused) == 1
        await one.election.stop()

    run(scenario())


def test_a_node_that_cannot_read_the_journal_leaves_it_to_others() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        server.write([Create(layout.ROOT, b""), Create(layout.HEAD, b"nonsense")], 0)
        one = Candidate(server, 1)
        await until(lambda: layout.CONTROLLER_EPOCH in server.nodes)
        await until(lambda: layout.CONTROLLER not in server.nodes)
        await asyncio.sleep(0.01)
        assert one.said == []
        assert server.nodes[layout.CONTROLLER_EPOCH].data == b"1"
        await one.election.stop()

    run(scenario())


def test_a_controller_that_cannot_be_activated_leaves_it_to_others() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        one = Candidate(server, 1)

        def broken(journal: ZooKeeperJournal, dead: int | None) -> None:
            raise RuntimeError("a fault of ours")

        one.election._on_elected = broken
        two = Candidate(server, 2, port=9002)
        await two.has_said(("elected", None))
        assert one.said == ["deposed"]
        await until(lambda: one.election.address() == ("127.0.0.1", 9002))
        await one.election.stop()
        await two.election.stop()

    run(scenario())


def test_a_node_that_could_not_be_the_controller_stands_again_after_a_pause(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("barnabas.broker.election.FAILED_S", 0.01)

    async def scenario() -> None:
        server = MemoryServer()
        server.write([Create(layout.ROOT, b""), Create(layout.HEAD, b"nonsense")], 0)
        one = Candidate(server, 1)
        await until(lambda: caplog.text.count("does not stand for") >= 3)
        assert one.said == []
        server.write([Put(layout.HEAD, layout.Head().encode())], 0)
        await one.has_said(("elected", None))
        await one.election.stop()

    run(scenario())
    pauses = [float(found) for found in re.findall(r"does not stand for (\S+) s", caplog.text)]
    assert pauses[:3] == [0.01, 0.02, 0.04], "each time longer"


def test_who_rests_still_knows_where_the_controller_is(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = MemoryServer()
        server.write([Create(layout.ROOT, b""), Create(layout.HEAD, b"nonsense")], 0)
        one = Candidate(server, 1)
        await until(lambda: "does not stand for" in caplog.text)
        server.write([Put(layout.HEAD, layout.Head().encode())], 0)
        two = Candidate(server, 2, port=9002)
        await two.has_said(("elected", None))
        await until(lambda: one.election.address() == ("127.0.0.1", 9002))
        assert one.said == []
        await one.election.stop()
        await two.election.stop()

    run(scenario())


def test_where_zookeeper_refuses_the_node_tries_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.broker.election.REFUSED_S", 0.01)

    async def scenario() -> None:
        one = Candidate(MemoryServer(), 1)
        refusals = [NotPermitted("/controller_epoch")] * 3

        def refuse(steps: object) -> None:
            if refusals:
                raise refusals.pop()

        one.zk.on_write = refuse
        await one.has_said(("elected", None))
        assert refusals == []
        await one.election.stop()

    run(scenario())


# The cluster's id.


def test_the_first_node_gives_the_cluster_its_id_and_the_others_take_it() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        first = await cluster_id(server, None)
        assert await cluster_id(server, None) == first
        assert await cluster_id(server, first) == first
        with pytest.raises(CannotJoin, match=first):
            await cluster_id(server, "another")

    run(scenario())


def test_a_node_that_was_a_cluster_brings_its_cluster_id() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        assert await agree_on_cluster_id(MemoryZooKeeper(server), "a", may_begin=True) == "a"

    run(scenario())


def test_a_broker_of_a_cluster_does_not_begin_another_where_there_is_none() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        before = dict(server.nodes)
        with pytest.raises(CannotJoin, match=r"zookeeper\.connect"):
            await cluster_id(server, "mine")
        assert server.nodes == before

    run(scenario())


async def cluster_id(server: MemoryServer, known_id: str | None) -> str:
    """For a broker that never was alone."""
    return await agree_on_cluster_id(MemoryZooKeeper(server), known_id, may_begin=False)


def test_a_cluster_of_apache_kafka_is_left_alone() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        server.write([Create("/brokers", b""), Create("/brokers/topics", b"")], 0)
        before = dict(server.nodes)
        with pytest.raises(CannotJoin, match="Apache Kafka"):
            await cluster_id(server, None)
        assert server.nodes == before

    run(scenario())

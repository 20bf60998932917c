"""The journal and the election with a real ZooKeeper server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cuttable_relay import CuttableRelay
from zookeeper_server import ZooKeeperServer, ensemble

from barnabas.broker.zookeeper_session import NoZooKeeper, ZooKeeperSession, ZooKeeperSettings
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.zookeeper import (
    BadVersion,
    Check,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    NotPermitted,
    Put,
    SessionState,
    ensure,
)
from barnabas.controller.zookeeper_claim import Claim, Deposed, claim, look_at_controller
from barnabas.controller.zookeeper_journal import ZooKeeperJournal, open_journal
from barnabas.controller.zookeeper_layout import ControllerNode
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

WAIT_S = 60


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """For tests that neither stop nor slow it, each below a path of its own."""
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer(tmp_path / "zookeeper") as server:
        yield server


@pytest.fixture
def settings(shared: ZooKeeperServer, request: pytest.FixtureRequest) -> ZooKeeperSettings:
    return ZooKeeperSettings(
        servers=shared.address, root=f"/{request.node.name}", session_timeout_s=30
    )


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, WAIT_S))


class Sessions:
    """Sessions that are closed at the end of the block."""

    def __init__(self, settings: ZooKeeperSettings) -> None:
        self.settings = settings
        self.opened: list[ZooKeeperSession] = []

    async def __aenter__(self) -> Sessions:
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self.opened:
            await session.close()

    async def new(self, **changes: Any) -> ZooKeeperSession:
        session = ZooKeeperSession(asyncio.get_running_loop(), replace(self.settings, **changes))
        self.opened.append(session)
        await session.start()
        return session


def node(node_id: int) -> ControllerNode:
    return ControllerNode(node_id=node_id, endpoints=())


async def won(zk: ZooKeeperSession, node_id: int = 1, **options: Any) -> Claim:
    found = await claim(zk, node(node_id), now_ms=0, **options)
    assert found is not None
    return found


holder = look_at_controller


async def journal_of(zk: ZooKeeperSession, held: Claim) -> ZooKeeperJournal:
    return await open_journal(
        zk,
        held,
        node_id=1,
        spawn=asyncio.get_running_loop().create_task,
        on_deposed=lambda: None,
    )


async def commit(journal: ZooKeeperJournal, *runs: Sequence[Message]) -> None:
    for records in runs:
        journal.append(records, now_ms=5)
    await ended(journal.commit)


async def ended(start: Callable[[Callable[[BaseException | None], None]], None]) -> None:
    future: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
    start(future.set_result)
    error = await future
    if error is not None:
        raise error


def feature(level: int) -> mr.FeatureLevelRecord:
    return mr.FeatureLevelRecord(name="f", feature_level=level)


def large(count: int) -> list[Message]:
    return [
        mr.ConfigRecord(resource_type=2, resource_name="t", name=f"c{n}", value="x" * 30_000)
        for n in range(count)
    ]


def records_of(journal: ZooKeeperJournal) -> list[Message]:
    return [record for run in journal.read(0) for record in run.records]


async def state(zk: ZooKeeperSession, wanted: SessionState) -> None:
    """Wait until the session is in that state."""
    reached = asyncio.Event()
    zk.listen(lambda now: reached.set() if now is wanted else None)
    await reached.wait()


# The session.


def test_transactions_are_done_as_a_whole_and_say_what_was_wrong(
    settings: ZooKeeperSettings,
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            zk = await sessions.new()
            await zk.write(Create("/a", b"1"), Create("/a/b", b"2"), Put("/a", b"3", 0))
            found = await zk.look("/a")
            assert found is not None
            assert (found.data, found.version, found.owner) == (b"3", 1, 0)
            assert await zk.children("/a") == ["b"]
            assert await zk.read(["/a", "/a/b"]) == [b"3", b"2"]
            assert await zk.look("/none") is None
            for error, step in (
                (BadVersion, Check("/a", 0)),
                (BadVersion, Put("/a", b"", 7)),
                (NodeExists, Create("/a", b"")),
                (NoNode, Create("/none/x", b"")),
                (NoNode, Delete("/none")),
                (NotEmpty, Delete("/a")),
            ):
                with pytest.raises(error):
                    await zk.write(Create("/never", b""), step, Create("/never2", b""))
            with pytest.raises(NoNode):
                await zk.read(["/a", "/never"])
            assert await zk.children("/") == ["a"]

    run(scenario())


def test_watches_tell_of_nodes_that_are_made_changed_and_deleted(
    settings: ZooKeeperSettings,
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            one, two = await sessions.new(), await sessions.new()
            for step in (Create("/w", b""), Put("/w", b"x"), Delete("/w")):
                called = asyncio.Event()
                await one.look("/w", watch=called.set)
                await two.write(step)
                await called.wait()

    run(scenario())


def test_a_path_of_many_levels_below_which_everything_is_gets_made(
    shared: ZooKeeperServer, settings: ZooKeeperSettings
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            deep = await sessions.new(root="/tests/deep/er")
            await deep.write(Create("/here", b"1"))
            plain = await sessions.new(root="")
            assert await plain.children("/tests/deep/er") == ["here"]

    run(scenario())


def test_what_a_session_held_is_gone_when_it_is_closed(settings: ZooKeeperSettings) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            one, two = await sessions.new(), await sessions.new()
            await one.write(Create("/e", b"", ephemeral=True))
            found = await two.look("/e")
            assert found is not None
            assert found.owner == one.session
            gone = asyncio.Event()
            await two.look("/e", watch=gone.set)
            await one.close()
            await gone.wait()
            assert await two.look("/e") is None

    run(scenario())


def test_a_zookeeper_that_is_not_there_is_named() -> None:
    async def scenario() -> None:
        settings = ZooKeeperSettings(servers="127.0.0.1:1", connection_timeout_s=0.3)
        session = ZooKeeperSession(asyncio.get_running_loop(), settings)
        with pytest.raises(NoZooKeeper, match=r"127\.0\.0\.1:1 .*0\.3 s"):
            await session.start()

    run(scenario())


def test_with_access_lists_others_see_who_is_there_but_not_the_journal(
    settings: ZooKeeperSettings,
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            ours = await sessions.new(digest="barnabas:secret", set_acl=True)
            journal = await journal_of(ours, await won(ours))
            await commit(journal, [feature(1)])

            for other in (await sessions.new(), await sessions.new(digest="barnabas:wrong")):
                assert await look_at_controller(other) is not None
                with pytest.raises(NotPermitted):
                    await other.look(layout.HEAD)
                with pytest.raises(NotPermitted):
                    await other.write(Put(layout.CONTROLLER_EPOCH, b"9"))
                with pytest.raises(NotPermitted):
                    await other.write(Delete(layout.CONTROLLER))
            again = await sessions.new(digest="barnabas:secret", set_acl=True)
            assert await again.look(layout.HEAD) is not None

    run(scenario())


# The journal.


def test_the_next_controller_reads_what_was_committed(settings: ZooKeeperSettings) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            one, two = await sessions.new(), await sessions.new()
            first = await journal_of(one, await won(one))
            await commit(first, [feature(1), feature(2)], [feature(3)])
            await one.close()
            second = await journal_of(two, await won(two, 2))
            assert records_of(second) == [feature(1), feature(2), feature(3)]
            assert second.epoch == first.epoch + 1

    run(scenario())


def test_a_deposed_controller_cannot_write(settings: ZooKeeperSettings) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            one, two = await sessions.new(), await sessions.new()
            first = await journal_of(one, await won(one))
            await commit(first, [feature(1)])
            held = await won(two, 2, instead_of=await holder(two))
            with pytest.raises(Deposed):
                await commit(first, [feature(666)])
            with pytest.raises(Deposed):
                await ended(lambda done: first.write_snapshot([feature(666)], now_ms=0, done=done))
            second = await journal_of(two, held)
            await commit(second, [feature(2)])
            assert records_of(second) == [feature(1), feature(2)]

    run(scenario())


def test_runs_and_snapshots_larger_than_a_node_come_back_whole(
    settings: ZooKeeperSettings,
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            one, two = await sessions.new(), await sessions.new()
            first = await journal_of(one, await won(one))
            await commit(first, large(150))
            again = await journal_of(two, await won(two, 2, instead_of=await holder(two)))
            assert records_of(again) == large(150)
            await commit(again, [feature(1)])
            snapshot = [*large(150), feature(1)]
            await ended(lambda done: again.write_snapshot(snapshot, now_ms=0, done=done))
            assert await two.children(layout.LOG) == []
            await commit(again, [feature(2)])

            third = await journal_of(one, await won(one, 1, instead_of=await holder(one)))
            found = third.snapshot()
            assert found is not None
            assert list(found.records) == snapshot
            assert records_of(third) == [feature(2)]

    run(scenario())


def test_a_thousand_commits_are_read_in_a_moment(settings: ZooKeeperSettings) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            zk = await sessions.new()
            journal = await journal_of(zk, await won(zk))
            for level in range(1, 1001):
                await commit(journal, [feature(level)])
            assert journal.snapshot_is_due
            again = await journal_of(zk, await won(zk, instead_of=await holder(zk)))
            assert records_of(again) == [feature(level) for level in range(1, 1001)]

    run(scenario())


# Faults.


def test_a_commit_survives_a_restart_of_zookeeper(own: ZooKeeperServer) -> None:
    async def scenario() -> None:
        settings = ZooKeeperSettings(servers=own.address, session_timeout_s=60)
        async with Sessions(settings) as sessions:
            zk = await sessions.new()
            held = await won(zk)
            journal = await journal_of(zk, held)
            await commit(journal, [feature(1)])
            down = asyncio.ensure_future(state(zk, SessionState.SUSPENDED))
            await asyncio.sleep(0)
            own.kill()
            await down
            waiting = asyncio.ensure_future(commit(journal, [feature(2)]))
            await asyncio.get_running_loop().run_in_executor(None, own.start)
            await waiting
            assert zk.session == held.session, "the session goes on"
            again = await journal_of(zk, await won(zk, instead_of=await holder(zk)))
            assert records_of(again) == [feature(1), feature(2)]

    run(scenario())


def test_with_three_servers_any_one_may_die(tmp_path: Path) -> None:
    """Each in turn, so that the leader of them is among those that die."""
    servers = ensemble(tmp_path)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        settings = ZooKeeperSettings(
            servers=",".join(server.address for server in servers),
            session_timeout_s=WAIT_S,
            connection_timeout_s=WAIT_S,
        )
        async with Sessions(settings) as sessions:
            zk = await sessions.new()
            held = await won(zk)
            journal = await journal_of(zk, held)
            for level, server in enumerate(servers, 1):
                await commit(journal, [feature(2 * level - 1)])
                await loop.run_in_executor(None, server.kill)
                await commit(journal, [feature(2 * level)])
                await loop.run_in_executor(None, server.start)
            assert zk.session == held.session
            other = await sessions.new()
            again = await journal_of(other, await won(other, instead_of=await holder(other)))
            assert records_of(again) == [feature(n) for n in range(1, 7)]

    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        run(scenario())


def test_a_controller_whose_session_ended_finds_itself_deposed(
    settings: ZooKeeperSettings, shared: ZooKeeperServer
) -> None:
    """It is cut off until its session has ended, and comes back after another's election."""

    async def scenario() -> None:
        async with Sessions(settings) as sessions, CuttableRelay(shared.port) as relay:
            two = await sessions.new()
            one = await sessions.new(servers=f"127.0.0.1:{relay.port}", session_timeout_s=4)
            held = await won(one)
            journal = await journal_of(one, held)
            await commit(journal, [feature(1)])
            gone = asyncio.Event()
            await two.look(layout.CONTROLLER, watch=gone.set)
            relay.cut()
            await gone.wait()
            waiting = asyncio.ensure_future(commit(journal, [feature(666)]))
            second = await journal_of(two, await won(two, 2))
            await commit(second, [feature(2)])
            relay.mend()
            with pytest.raises(Deposed):
                await waiting
            again = await journal_of(two, await won(two, 2, instead_of=await holder(two)))
            assert records_of(again) == [feature(1), feature(2)]
            assert await one.connected() != held.session

    run(scenario())


def test_a_connection_that_is_lost_again_and_again_loses_and_repeats_nothing(
    settings: ZooKeeperSettings, shared: ZooKeeperServer
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions, CuttableRelay(shared.port) as relay:
            one = await sessions.new(servers=f"127.0.0.1:{relay.port}")
            journal = await journal_of(one, await won(one))
            loop = asyncio.get_running_loop()
            for level in range(1, 41):
                relay.mend()
                if level % 4 == 0:
                    loop.call_later(level * 0.00005, relay.cut)
                    loop.call_later(0.01, relay.mend)
                await commit(journal, [feature(level), *large(level // 10)])
            two = await sessions.new()
            again = await journal_of(two, await won(two, 2, instead_of=await holder(two)))
            wanted = [r for level in range(1, 41) for r in (feature(level), *large(level // 10))]
            assert records_of(again) == wanted

    run(scenario())


def test_a_server_that_accepts_and_says_nothing_does_not_cost_the_session(
    settings: ZooKeeperSettings, shared: ZooKeeperServer
) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions, CuttableRelay(shared.port) as relay:
            one = await sessions.new(servers=f"127.0.0.1:{relay.port}", session_timeout_s=18)
            session = one.session
            states: list[SessionState] = []
            one.listen(states.append)
            relay.ignore(1)
            relay.cut()
            relay.mend()
            await state(one, SessionState.CONNECTED)
            assert one.session == session
            assert states == [SessionState.SUSPENDED, SessionState.CONNECTED]

    run(scenario())


def test_nodes_that_stay_are_made_once(settings: ZooKeeperSettings) -> None:
    async def scenario() -> None:
        async with Sessions(settings) as sessions:
            one, two = await sessions.new(), await sessions.new()
            await asyncio.gather(ensure(one, *layout.PERSISTENT), ensure(two, *layout.PERSISTENT))
            assert await one.children("/") == ["barnabas", "brokers", "cluster"]

    run(scenario())

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest
from memory_zookeeper import MemoryServer, MemoryZooKeeper

from barnabas.base.errors import ApiError, StorageFailed
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.image import ClusterImage
from barnabas.controller.zookeeper import Check, Create, NotPermitted, Put, Step
from barnabas.controller.zookeeper_claim import Claim, Deposed, claim
from barnabas.controller.zookeeper_journal import ZooKeeperJournal, open_journal
from barnabas.controller.zookeeper_layout import ControllerNode, Head
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

Scenario = Callable[[], Coroutine[Any, Any, None]]


def feature(level: int) -> mr.FeatureLevelRecord:
    return mr.FeatureLevelRecord(name="f", feature_level=level)


def large(count: int, size: int = 30_000) -> list[Message]:
    return [
        mr.ConfigRecord(resource_type=2, resource_name="t", name=f"c{n}", value="x" * size)
        for n in range(count)
    ]


async def elect(zk: MemoryZooKeeper, node_id: int = 1) -> Claim:
    won = await claim(zk, ControllerNode(node_id=node_id, endpoints=()), now_ms=0)
    assert won is not None
    return won


class Opened:
    """A journal and what it reported."""

    def __init__(self, journal: ZooKeeperJournal) -> None:
        self.journal = journal
        self.deposed = 0

    async def commit(self, *runs: Sequence[Message]) -> list[int]:
        offsets = [self.journal.append(run, now_ms=5) for run in runs]
        await self._ended(self.journal.commit)
        return offsets

    async def write_snapshot(self, records: Sequence[Message]) -> None:
        await self._ended(lambda done: self.journal.write_snapshot(records, now_ms=6, done=done))

    async def _ended(self, start: Callable[[Callable[[BaseException | None], None]], None]) -> None:
        ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        start(ended.set_result)
        error = await asyncio.wait_for(ended, 10)
        await asyncio.sleep(0)
        if error is not None:
            raise error


async def opened(zk: MemoryZooKeeper, won: Claim | None = None, **options: int) -> Opened:
    holder: list[Opened] = []

    def deposed() -> None:
        holder[0].deposed += 1

    journal = await open_journal(
        zk,
        won or await elect(zk),
        node_id=1,
        spawn=asyncio.get_running_loop().create_task,
        on_deposed=deposed,
        **options,
    )
    holder.append(Opened(journal))
    return holder[0]


def replayed(journal: ZooKeeperJournal) -> ClusterImage:
    image = ClusterImage("c")
    snapshot = journal.snapshot()
    offset = 0
    if snapshot is not None:
        offset = snapshot.end_offset
        image.load_snapshot(snapshot.records, end_offset=offset, epoch=snapshot.epoch)
    for run in journal.read(offset):
        image.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)
    return image


def records_of(journal: ZooKeeperJournal) -> list[Message]:
    return [record for run in journal.read(0) for record in run.records]


async def next_controller(server: MemoryServer) -> MemoryZooKeeper:
    """Another node, elected although the first still believes in itself."""
    other = MemoryZooKeeper(server)
    del server.nodes[layout.CONTROLLER]
    return other


# What every journal promises.


def test_what_was_committed_is_there_for_the_next_controller() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        first = await opened(MemoryZooKeeper(server))
        assert first.journal.is_empty
        assert await first.commit([feature(1), feature(2)], [feature(3)]) == [2, 3]
        assert await first.commit([feature(4)]) == [4]
        assert first.journal.end_offset == 5

        second = await opened(await next_controller(server))
        assert not second.journal.is_empty
        assert second.journal.end_offset == 5
        assert second.journal.epoch == first.journal.epoch + 1
        runs = [(run.records, run.last_offset) for run in second.journal.read(0)]
        assert runs == [
            ((), 0),
            ((feature(1), feature(2)), 2),
            ((feature(3),), 3),
            ((feature(4),), 4),
        ]

    asyncio.run(scenario())


def test_reading_starts_with_the_run_that_holds_the_offset() -> None:
    async def scenario() -> None:
        it = await opened(MemoryZooKeeper(MemoryServer()))
        await it.commit([feature(1)], [feature(2)])
        assert [run.records for run in it.journal.read(2)] == [(feature(2),)]
        assert list(it.journal.read(3)) == []

    asyncio.run(scenario())


def test_a_commit_of_nothing_is_done_at_once() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        it = await opened(MemoryZooKeeper(server))
        before = server.writes
        it.journal.commit(outcomes.append)
        assert outcomes == [None]
        assert server.writes == before

    outcomes: list[BaseException | None] = []
    asyncio.run(scenario())


def test_a_small_commit_is_one_transaction() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        it = await opened(MemoryZooKeeper(server))
        before = server.writes
        await it.commit([feature(1)], [feature(2)], [feature(3)])
        assert server.writes == before + 1

    asyncio.run(scenario())


def test_a_run_larger_than_a_node_is_split_and_put_together_again() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        it = await opened(MemoryZooKeeper(server))
        run = large(70)
        await it.commit(run)
        assert len(server.names(layout.LOG)) == 5
        await it.commit([feature(9)])

        other = await opened(await next_controller(server))
        assert records_of(other.journal) == [*run, feature(9)]

    asyncio.run(scenario())


# Fencing.


def test_a_deposed_controller_cannot_write() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        old = await opened(MemoryZooKeeper(server))
        await old.commit([feature(1)])
        new_zk = await next_controller(server)
        won = await elect(new_zk, 2)

        with pytest.raises(Deposed):
            await old.commit([feature(666)])
        assert old.deposed == 1
        new = await opened(new_zk, won)
        assert records_of(new.journal) == [feature(1)]
        await new.commit([feature(2)])

    asyncio.run(scenario())


def test_the_parts_of_a_deposed_controllers_large_run_are_never_read() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        old = await opened(zk)
        await old.commit([feature(1)])
        winners: list[Claim] = []
        other = MemoryZooKeeper(server)
        written: list[int] = []

        def deposed_after_two_parts(steps: Sequence[Step]) -> None:
            written.append(len(steps))
            if len(written) == 3:
                del server.nodes[layout.CONTROLLER]
                asyncio.get_running_loop().create_task(take_over())

        async def take_over() -> None:
            winners.append(await elect(other, 2))

        zk.on_write = deposed_after_two_parts
        original = zk.write

        async def yielding_write(*steps: Step) -> None:
            await original(*steps)
            await asyncio.sleep(0.001)

        zk.write = yielding_write  # type: ignore[method-assign]
        with pytest.raises(Deposed):
            await old.commit(large(70))
        assert len(server.names(layout.LOG)) > 1

        new = await opened(other, winners[0])
        assert records_of(new.journal) == [feature(1)]
        assert len(server.names(layout.LOG)) == 1
        await new.commit([feature(2)])
        assert records_of(new.journal) == [feature(1), feature(2)]

    asyncio.run(scenario())


def test_every_transaction_checks_the_epoch_first() -> None:
    async def scenario() -> None:
        zk = MemoryZooKeeper(MemoryServer())
        won = await elect(zk)
        first_steps: list[Step] = []
        it = await opened(zk, won)
        zk.on_write = lambda steps: first_steps.append(steps[0])
        await it.commit(large(70))
        await it.write_snapshot([feature(1)])
        assert len(first_steps) > 6
        assert set(first_steps) == {Check(layout.CONTROLLER_EPOCH, won.version)}

    asyncio.run(scenario())


def test_opening_ends_when_somebody_else_was_elected_meanwhile() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        won = await elect(zk)
        await elect(await next_controller(server), 2)
        with pytest.raises(Deposed):
            await opened(zk, won)

    asyncio.run(scenario())


# Connections and sessions.


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("records", [[feature(2)], large(70)], ids=["small", "large"])
def test_a_commit_whose_answer_is_lost_is_committed_once(
    done: bool, records: list[Message]
) -> None:
    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        it = await opened(zk)
        await it.commit([feature(1)])
        fates = [None, done] if len(records) > 1 else [done]
        zk.on_write = lambda steps: fates.pop(0) if fates else None
        zk.listen(lambda state: zk.reconnect() if not zk._connected.is_set() else None)

        await it.commit(records)
        assert fates == []
        assert records_of(it.journal) == [feature(1), *records]
        await it.commit([feature(3)])
        other = await opened(await next_controller(server))
        assert records_of(other.journal) == [feature(1), *records, feature(3)]

    asyncio.run(scenario())


def test_a_commit_waits_while_there_is_no_connection() -> None:
    async def scenario() -> None:
        zk = MemoryZooKeeper(MemoryServer())
        it = await opened(zk)
        zk.disconnect()
        waiting = asyncio.ensure_future(it.commit([feature(1)]))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        zk.reconnect()
        await waiting
        assert records_of(it.journal) == [feature(1)]

    asyncio.run(scenario())


def test_a_commit_whose_session_ended_is_refused() -> None:
    async def scenario() -> None:
        zk = MemoryZooKeeper(MemoryServer())
        it = await opened(zk)

        def lost(steps: Sequence[Step]) -> bool:
            asyncio.get_running_loop().call_soon(zk.expire)
            asyncio.get_running_loop().call_soon(zk.come_back)
            return False

        zk.on_write = lost
        with pytest.raises(Deposed):
            await it.commit([feature(1)])
        assert it.deposed == 1

    asyncio.run(scenario())


def test_an_older_attempt_that_arrives_late_is_recognised() -> None:
    """The connection breaks, we look and find nothing, and only then the server does it."""

    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        it = await opened(zk)
        attempts: list[Sequence[Step]] = []

        def late(steps: Sequence[Step]) -> bool | None:
            attempts.append(steps)
            if len(attempts) == 1:
                asyncio.get_running_loop().call_soon(zk.reconnect)
                return False
            if len(attempts) == 2:
                server.write(attempts[0], zk.session)
            return None

        zk.on_write = late
        await it.commit([feature(1)])
        assert records_of(it.journal) == [feature(1)]
        await it.commit([feature(2)])
        other = await opened(await next_controller(server))
        assert records_of(other.journal) == [feature(1), feature(2)]

    asyncio.run(scenario())


def test_a_refusal_is_an_error_and_the_next_commit_starts_where_this_one_did() -> None:
    async def scenario() -> None:
        zk = MemoryZooKeeper(MemoryServer())
        it = await opened(zk)

        def refuse(steps: Sequence[Step]) -> None:
            raise NotPermitted("no")

        zk.on_write = refuse
        with pytest.raises(StorageFailed, match="no"):
            await it.commit([feature(1)])
        zk.on_write = lambda steps: None
        assert await it.commit([feature(2)]) == [1]
        assert records_of(it.journal) == [feature(2)]

    asyncio.run(scenario())


def test_after_close_nobody_is_told() -> None:
    async def scenario() -> None:
        zk = MemoryZooKeeper(MemoryServer())
        it = await opened(zk)
        it.journal.append([feature(1)], now_ms=5)
        it.journal.commit(outcomes.append)
        it.journal.close()
        await asyncio.sleep(0.01)

    outcomes: list[BaseException | None] = []
    asyncio.run(scenario())
    assert outcomes == []


# Snapshots.


def test_a_snapshot_replaces_what_is_before_it() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        it = await opened(MemoryZooKeeper(server))
        for level in range(1, 6):
            await it.commit([feature(level)])
        image = replayed(it.journal)
        await it.write_snapshot(image.dump())
        assert server.names(layout.LOG) == []
        await it.commit([feature(6)])
        assert len(server.names(layout.LOG)) == 1

        other = await opened(await next_controller(server))
        snapshot = other.journal.snapshot()
        assert snapshot is not None
        assert (snapshot.end_offset, snapshot.epoch) == (6, 1)
        assert replayed(other.journal).features == {"f": 6}

    asyncio.run(scenario())


def test_a_large_snapshot_is_split() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        it = await opened(MemoryZooKeeper(server))
        await it.commit([feature(1)])
        records = large(70)
        await it.write_snapshot(records)
        (name,) = server.names(layout.SNAPSHOTS)
        assert len(server.names(f"{layout.SNAPSHOTS}/{name}")) > 4

        other = await opened(await next_controller(server))
        snapshot = other.journal.snapshot()
        assert snapshot is not None
        assert list(snapshot.records) == records
        await other.write_snapshot([feature(2)])
        assert len(server.names(layout.SNAPSHOTS)) == 1

    asyncio.run(scenario())


def test_a_snapshot_is_due_after_so_many_commits_or_bytes() -> None:
    async def scenario() -> None:
        it = await opened(MemoryZooKeeper(MemoryServer()), snapshot_entries=3)
        for level in (1, 2):
            await it.commit([feature(level)])
            assert not it.journal.snapshot_is_due
        await it.commit([feature(3)])
        assert it.journal.snapshot_is_due
        await it.write_snapshot([feature(3)])
        assert not it.journal.snapshot_is_due

        it = await opened(MemoryZooKeeper(MemoryServer()), snapshot_bytes=5_000)
        await it.commit(large(1, 4_000))
        assert not it.journal.snapshot_is_due
        await it.commit(large(1, 1_000))
        assert it.journal.snapshot_is_due

    asyncio.run(scenario())


def test_half_a_snapshot_of_a_dead_controller_is_swept_away() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        it = await opened(zk)
        await it.commit([feature(1)])
        writes = iter([None, None, False])
        zk.on_write = lambda steps: next(writes)
        it.journal.write_snapshot(large(70), now_ms=6, done=lambda error: None)
        await asyncio.sleep(0.01)
        assert len(server.names(layout.SNAPSHOTS)) == 1

        other = await opened(await next_controller(server))
        assert server.names(layout.SNAPSHOTS) == []
        assert records_of(other.journal) == [feature(1)]

    asyncio.run(scenario())


# Damage.


async def damaged(harm: Callable[[MemoryServer], None]) -> Awaitable[Opened]:
    server = MemoryServer()
    it = await opened(MemoryZooKeeper(server))
    await it.commit([feature(1)])
    await it.write_snapshot([feature(1)])
    await it.commit([feature(2)])
    await it.commit([feature(3)])
    harm(server)
    return opened(await next_controller(server))


def lose_an_entry(server: MemoryServer) -> None:
    del server.nodes[f"{layout.LOG}/{server.names(layout.LOG)[0]}"]


def change_an_entry(server: MemoryServer) -> None:
    path = f"{layout.LOG}/{server.names(layout.LOG)[0]}"
    data = server.nodes[path].data
    server.write([Put(path, data[:-1] + b"!")], 0)


def lose_half_a_snapshot(server: MemoryServer) -> None:
    (name,) = server.names(layout.SNAPSHOTS)
    parts = server.names(f"{layout.SNAPSHOTS}/{name}")
    del server.nodes[f"{layout.SNAPSHOTS}/{name}/{parts[-1]}"]


def lose_the_snapshot(server: MemoryServer) -> None:
    for path in [p for p in server.nodes if p.startswith(f"{layout.SNAPSHOTS}/")]:
        del server.nodes[path]


def newer_head(server: MemoryServer) -> None:
    server.write([Put(layout.HEAD, b'{"version": 2}')], 0)


@pytest.mark.parametrize(
    "harm",
    [lose_an_entry, change_an_entry, lose_half_a_snapshot, lose_the_snapshot, newer_head],
)
def test_a_damaged_journal_is_refused(harm: Callable[[MemoryServer], None]) -> None:
    async def scenario() -> None:
        opening = await damaged(harm)
        with pytest.raises(ApiError) as refused:
            await asyncio.wait_for(opening, 5)
        assert isinstance(refused.value, StorageFailed)

    asyncio.run(scenario())


def test_other_nodes_in_the_log_are_left_alone() -> None:
    async def scenario() -> None:
        server = MemoryServer()
        it = await opened(MemoryZooKeeper(server))
        server.write([Create(f"{layout.LOG}/note", b"mine")], 0)
        await it.commit([feature(1)])
        other = await opened(await next_controller(server))
        assert records_of(other.journal) == [feature(1)]
        assert "note" in server.names(layout.LOG)

    asyncio.run(scenario())


def test_the_head_says_what_counts() -> None:
    head = Head(end_offset=7, epoch=2, snapshot="x")
    assert Head.decode(head.encode()) == head
    assert Head.decode(Head().encode()) == Head()

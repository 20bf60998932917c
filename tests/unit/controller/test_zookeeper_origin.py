from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from memory_zookeeper import MemoryServer, MemoryZooKeeper

from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.image import ClusterImage
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.controller.zookeeper import ConnectionLost
from barnabas.controller.zookeeper_claim import claim
from barnabas.controller.zookeeper_journal import open_journal
from barnabas.controller.zookeeper_layout import ControllerNode
from barnabas.controller.zookeeper_origin import NotFirst, Origin, bring_in, read_origin
from barnabas.protocol.messages import metadata_records as mr


def write_journal(path: Path, *, writers: int = 3) -> DirectoryFiles:
    """A node's own journal, written by one process after the other."""
    files = DirectoryFiles(path)
    for writer in range(1, writers + 1):
        journal = EmbeddedJournal(files, node_id=1)
        for level in range(1, 5):
            records = [mr.FeatureLevelRecord(name=f"f{writer}", feature_level=level)]
            journal.append(records, now_ms=5)
            journal.commit(lambda error: None)
    return files


def origin_of(files: DirectoryFiles) -> Origin:
    found = read_origin(files, node_id=1, cluster_id="c")
    assert found is not None
    return found


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return origin_of(write_journal(tmp_path / "own"))


def test_a_node_without_a_journal_has_nothing_to_bring(tmp_path: Path) -> None:
    assert read_origin(DirectoryFiles(tmp_path / "none"), node_id=1, cluster_id="c") is None


def test_the_first_controller_begins_with_what_was_brought_in(origin: Origin) -> None:
    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        assert await bring_in(zk, origin, now_ms=7)
        won = await claim(zk, ControllerNode(node_id=2, endpoints=()), now_ms=8)
        assert won is not None
        assert won.epoch == origin.image.applied_epoch + 1, "epochs only grow"
        journal = await open_journal(
            zk,
            won,
            node_id=2,
            spawn=asyncio.get_running_loop().create_task,
            on_deposed=lambda: None,
        )
        assert not journal.is_empty
        assert journal.end_offset == origin.image.applied_offset + 1, "so do offsets"
        image = ClusterImage("c")
        image.load_journal(journal)
        assert image.features == {"f1": 4, "f2": 4, "f3": 4}
        assert (
            journal.append([mr.FeatureLevelRecord(name="g", feature_level=1)], now_ms=9)
            == image.applied_offset + 2
        )

    asyncio.run(scenario())


def test_it_is_brought_in_once(origin: Origin) -> None:
    async def scenario() -> None:
        server = MemoryServer()
        assert await bring_in(MemoryZooKeeper(server), origin, now_ms=7)
        before = dict(server.nodes)
        assert not await bring_in(MemoryZooKeeper(server), origin, now_ms=8)
        assert server.nodes == before

    asyncio.run(scenario())


def test_where_a_cluster_has_begun_nothing_is_brought_in(origin: Origin, tmp_path: Path) -> None:
    other = origin_of(write_journal(tmp_path / "other", writers=2))

    async def scenario() -> None:
        server = MemoryServer()
        assert await bring_in(MemoryZooKeeper(server), other, now_ms=7)
        before = dict(server.nodes)
        with pytest.raises(NotFirst):
            await bring_in(MemoryZooKeeper(server), origin, now_ms=8)
        assert server.nodes == before

    asyncio.run(scenario())


def test_who_is_elected_meanwhile_wins(origin: Origin) -> None:
    """Everything is written but the last step, and then somebody else is faster."""

    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        other = MemoryZooKeeper(server)
        won = await claim(other, ControllerNode(node_id=2, endpoints=()), now_ms=0)
        assert won is not None
        with pytest.raises(NotFirst):
            await bring_in(zk, origin, now_ms=8)
        journal = await open_journal(
            other,
            won,
            node_id=2,
            spawn=asyncio.get_running_loop().create_task,
            on_deposed=lambda: None,
        )
        assert journal.is_empty
        assert server.names(layout.SNAPSHOTS) == [], "what was left of it is swept away"

    asyncio.run(scenario())


def test_an_attempt_that_broke_off_is_repeated(origin: Origin) -> None:
    async def scenario() -> None:
        server = MemoryServer()
        zk = MemoryZooKeeper(server)
        fates = iter([None] * 8 + [False])
        zk.on_write = lambda steps: next(fates)
        with pytest.raises(ConnectionLost):
            await bring_in(zk, origin, now_ms=7)
        assert await bring_in(MemoryZooKeeper(server), origin, now_ms=8)

    asyncio.run(scenario())

"""Starting and stopping a node in this process, where a fault can be planted."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.base.settings import BrokerConfig
from barnabas.broker.node import Node
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.storage.directory import DirectoryRefused
from barnabas.storage.fs import FilePool


def config(path: Path, **settings: str) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            "node.id": "1",
            "log.dirs": str(path),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )


def test_logs_are_closed_cleanly_even_if_the_journal_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StorageFailed("cannot write: No space left on device")

    async def scenario() -> None:
        node = Node(config(tmp_path))
        await node.start()
        monkeypatch.setattr(DirectoryFiles, "append", refuse)
        await node.stop()

    asyncio.run(scenario())

    assert (tmp_path / ".kafka_cleanshutdown").exists()
    assert "leaving without the controller's knowledge" in caplog.text


def test_the_journal_is_read_when_nobody_else_can_write_it_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: list[bool] = []

    class Watched(EmbeddedJournal):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            lock = FilePool().lock(str(tmp_path / ".lock"))
            free.append(lock is not None)
            super().__init__(*args, **kwargs)

    async def scenario() -> None:
        node = Node(config(tmp_path))
        await node.start()
        await node.stop()

    monkeypatch.setattr("barnabas.broker.node.EmbeddedJournal", Watched)
    asyncio.run(scenario())

    assert free == [False]


def test_a_metadata_directory_of_its_own_is_for_one_broker(tmp_path: Path) -> None:
    shared = str(tmp_path / "metadata")

    async def scenario() -> None:
        first = Node(config(tmp_path / "first", metadata_log_dir=shared))
        await first.start()
        second = Node(config(tmp_path / "second", metadata_log_dir=shared))
        with pytest.raises(DirectoryRefused, match="metadata is in use"):
            await second.start()
        await first.stop()
        again = Node(config(tmp_path / "second", metadata_log_dir=shared))
        await again.start()  # whoever was refused holds nothing
        assert again.broker.cluster_id == first.broker.cluster_id
        await again.stop()

    asyncio.run(scenario())


def test_a_metadata_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    async def run(**settings: str) -> None:
        node = Node(config(tmp_path / "data", **settings))
        await node.start()
        await node.stop()

    asyncio.run(run(metadata_log_dir=str(tmp_path / "metadata")))
    (tmp_path / "data" / "meta.properties").write_text("cluster.id=other\nversion=1\nnode.id=1\n")
    for _ in "12":  # whoever was refused holds nothing
        with pytest.raises(DirectoryRefused, match="metadata belongs to cluster"):
            asyncio.run(run(metadata_log_dir=str(tmp_path / "metadata")))


def test_a_fault_in_periodic_work_does_not_keep_the_rest_from_being_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def fault(*_: Any) -> None:
        raise AssertionError("planted")

    async def scenario() -> None:
        node = Node(config(tmp_path))
        monkeypatch.setattr("barnabas.storage.cleaner.Cleaner.tick", fault)
        monkeypatch.setattr(
            "barnabas.broker.net.server.Server.close_idle", lambda *_: done.append("idle")
        )
        await node.start()
        await node.stop()

    asyncio.run(scenario())

    assert done == ["idle"]
    assert "planted" in caplog.text


def test_metadata_changes_do_not_wait_for_slow_disk_work(tmp_path: Path) -> None:
    gate = threading.Event()

    async def scenario() -> None:
        node = Node(config(tmp_path))
        await node.start()
        try:
            for _ in range(8):  # more than there are threads for them
                node.logs.workers.submit(lambda: gate.wait(60) and None, lambda error: None)
            answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
            node.controller.submit(CreateTopicsRequest(topics=[topic]), answered.set_result)
            response = await asyncio.wait_for(answered, 30)
            assert response.topics[0].error_code == 0
            assert not gate.is_set()
        finally:
            gate.set()
            await node.stop()

    asyncio.run(scenario())

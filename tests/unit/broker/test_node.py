"""Starting and stopping a node in this process, where a fault can be planted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.base.settings import BrokerConfig
from barnabas.broker.node import Node
from barnabas.controller.journal_files import DirectoryFiles


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

"""A broker's two log directories and a log in the first, to be moved to the second."""

from __future__ import annotations

from pathlib import Path

from storage_logs import NOW, TOPIC_ID, FlakyDisk, StepWorkers

from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.manager import LogManager, StorageSettings

CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=100, file_delete_delay_ms=0)
KEY = ("t", 0)


class World:
    """One broker's log directories `a` and `b`, and a log in `a`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = FlakyDisk()
        self.running: LogManager | None = None
        self.start()
        self.log = self.manager.create("t", 0, TOPIC_ID, CONFIG)
        assert self.log.directory == str(root / "a/t-0")

    def start(self) -> LogManager:
        """As another process after a crash."""
        self.crash()
        self.workers = StepWorkers()
        self.manager = self.running = LogManager(
            StorageSettings(directories=(str(self.root / "a"), str(self.root / "b"))),
            node_id=1,
            cluster_id="c",
            workers=self.workers,
            pool=FilePool(16, self.disk),
        )
        self.manager.load(NOW, lambda topic: CONFIG)
        self.a, self.b = self.manager.directories
        return self.manager

    def crash(self) -> None:
        if self.running is not None:
            self.running.give_back()
            self.running.pool.close()
            self.running = None

    def begin(self, directory: object = None) -> None:
        self.manager.move("t", 0, self.b if directory is None else directory)  # type: ignore[arg-type]
        self.manager.moves.tick()

    def finish(self) -> None:
        while self.workers.step():
            pass

    @property
    def names(self) -> list[str]:
        return sorted(
            f"{path.parent.name}/{path.name.split('.')[0]}{path.name[path.name.rfind('-') :]}"
            if "." in path.name
            else f"{path.parent.name}/{path.name}"
            for path in self.root.glob("*/*")
            if path.is_dir()
        )

"""What every broker under test has in common, whoever wrote it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from harness.processes import Child
from harness.wire import NotAnsweredError, cluster_view


class Broker(ABC):
    """A single node on 127.0.0.1, its files under `folder`, startable again on the same data."""

    name: str
    changes_show_at_once = True
    """Whether a change that was answered is visible to the very next request."""
    child: Child
    bootstrap: str
    ready_after: float
    """Seconds from the start of the process to its first answer."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.settings = dict(settings or {})

    @property
    def data_dir(self) -> Path:
        """Where the folders of the partitions are."""
        return self.folder / "data"

    @abstractmethod
    def start(self) -> None:
        """Start the process and return when it answers Metadata with itself as a broker."""

    def addresses(self) -> list[str]:
        """Of every node that runs."""
        return [self.bootstrap]

    def answers(self) -> bool:
        try:
            return bool(cluster_view(self.bootstrap).brokers)
        except NotAnsweredError:
            return False

    def stop(self) -> int:
        """Clean shutdown; the exit status."""
        return self.child.stop()

    def kill(self) -> None:
        """kill -9."""
        self.child.kill()

    def discard(self) -> None:
        """End it in whatever state it is."""
        if hasattr(self, "child"):
            self.child.kill()

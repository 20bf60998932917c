"""One log directory: who it belongs to, who uses it, how it was left, what its checkpoints say.

`.lock` keeps a second broker out.  `meta.properties` names the cluster, the node and the directory.
`.kafka_cleanshutdown` is written last at a clean stop and removed first at the next start.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.base.ids import id_text, parse_id, random_id
from barnabas.base.properties import parse_properties
from barnabas.storage import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.storage.checkpoint import Partition
    from barnabas.storage.fs import FilePool, PrivateFile
    from barnabas.storage.log import Log

LOCK_FILE = ".lock"
META_FILE = "meta.properties"
CLEAN_MARKER = ".kafka_cleanshutdown"
NO_EPOCH = -1
METADATA_DIRECTORY = "__cluster_metadata-0"
_LOG_NAME = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]+)")
_logger = logging.getLogger(__name__)


class DirectoryRefused(Exception):  # noqa: N818 (says what happened)
    """The broker must not use this directory; the message says why, for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What `meta.properties` says."""

    cluster_id: str
    node_id: int
    directory_id: bytes

    def encode(self) -> bytes:
        return (
            "#\n"
            f"cluster.id={self.cluster_id}\n"
            "version=1\n"
            f"directory.id={id_text(self.directory_id)}\n"
            f"node.id={self.node_id}\n"
        ).encode()


def read_meta(pool: FilePool, path: str) -> Meta | None:
    """The owner of a directory; None if it has none yet.  DirectoryRefused if it is unreadable."""
    data = pool.read_bytes(f"{path}/{META_FILE}")
    if data is None:
        return None
    try:
        found = {name: line.value for name, line in parse_properties(data.decode()).items()}
        node_id = int(found["node.id"] if "node.id" in found else found["broker.id"])
        directory_id = parse_id(found["directory.id"]) if "directory.id" in found else random_id()
        return Meta(cluster_id=found["cluster.id"], node_id=node_id, directory_id=directory_id)
    except (ValueError, KeyError) as error:
        raise DirectoryRefused(f"{path}/{META_FILE} cannot be read: {error}") from error


def log_name(name: str) -> re.Match[str] | None:
    """`topic` and `partition`, if a directory of that name is a log."""
    return None if name == METADATA_DIRECTORY else _LOG_NAME.fullmatch(name)


def holds_logs(pool: FilePool, path: str) -> bool:
    """Whether partitions are kept in that directory."""
    return any(log_name(name) for name in pool.list_directories(path))


def _epoch_in(marker: bytes) -> int:
    """Older brokers wrote an empty one."""
    found = re.search(rb'"brokerEpoch"\s*:\s*(-?\d+)', marker)
    return int(found[1]) if found else NO_EPOCH


class LogDirectory:
    """A log directory of this broker.  Loop thread only."""

    def __init__(self, pool: FilePool, path: str) -> None:
        self.path = os.path.abspath(path)
        self.logs: dict[Partition, Log] = {}
        self.failure: StorageFailed | None = None
        """Why nothing in it can be used."""
        self.was_clean = False
        self.clean_epoch = NO_EPOCH
        """The broker epoch in which it was closed cleanly, if the marker says so."""
        self.meta: Meta | None = None
        self._pool = pool
        self._lock: PrivateFile | None = None
        self._written: dict[str, dict[Partition, int]] = {}
        self._coming: dict[str, dict[Partition, int]] = {}  # begun, and not known to be written
        self._begun: dict[str, int] = {}
        self._one_at_a_time = threading.Lock()  # of the checkpoint files; a worker writes them too

    def __repr__(self) -> str:
        return f"<LogDirectory {self.path}>"

    def open(self, *, cluster_id: str | None, node_id: int) -> None:
        """Take the directory.  DirectoryRefused if it is another's; StorageFailed if it is broken.

        A new directory gets an id and becomes this node's.
        """
        self._pool.make_directory(self.path)
        self._lock = self._pool.lock(f"{self.path}/{LOCK_FILE}")
        if self._lock is None:
            raise DirectoryRefused(
                f"Log directory {self.path} is in use by another broker (its {LOCK_FILE} is held)."
            )
        meta = read_meta(self._pool, self.path)
        if meta is None:
            if cluster_id is None:
                raise DirectoryRefused(f"Log directory {self.path} has no {META_FILE} yet.")
            meta = Meta(cluster_id=cluster_id, node_id=node_id, directory_id=random_id())
            self._pool.write_atomically(f"{self.path}/{META_FILE}", meta.encode())
        if cluster_id is not None and meta.cluster_id != cluster_id:
            raise DirectoryRefused(
                f"Log directory {self.path} belongs to cluster {meta.cluster_id}, not {cluster_id}."
            )
        if meta.node_id != node_id:
            raise DirectoryRefused(
                f"Log directory {self.path} belongs to node {meta.node_id}, not {node_id}."
            )
        self.meta = meta
        marker = self._pool.read_bytes(f"{self.path}/{CLEAN_MARKER}")
        self.was_clean = marker is not None
        if marker is not None:
            self.clean_epoch = _epoch_in(marker)
            self._pool.remove(f"{self.path}/{CLEAN_MARKER}")
            self._pool.sync_directory(self.path)

    @property
    def directory_id(self) -> bytes:
        assert self.meta is not None, "the directory was not opened"
        return self.meta.directory_id

    def mark_clean(self, broker_epoch: int = -1) -> None:
        """Everything in the directory is closed: the next start may trust it."""
        self._pool.write_atomically(
            f"{self.path}/{CLEAN_MARKER}",
            f'{{"version":0,"brokerEpoch":{broker_epoch}}}'.encode(),
        )

    def close(self) -> None:
        """Let others have the directory."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def space(self) -> tuple[int, int]:
        """Bytes of the volume: in all, and still usable."""
        return self._pool.space(self.path)

    def partition_path(self, topic: str, partition: int) -> str:
        return f"{self.path}/{topic}-{partition}"

    # Checkpoints.

    def read_checkpoint(self, name: str) -> dict[Partition, int]:
        offsets = checkpoint.read_offsets(self._pool, f"{self.path}/{name}")
        self._written[name] = offsets
        return dict(offsets)

    def checkpoint_is_stale(self, name: str, offsets: dict[Partition, int]) -> bool:
        """Whether the file says something else; the caller is going to write it."""
        return self._written.get(name) != offsets

    def begin_checkpoint(self, name: str, offsets: dict[Partition, int]) -> Callable[[], None]:
        """The work that writes the file, durably, on any thread; then, `checkpoint_written`.

        It does nothing any more when another is begun: what is written last was begun last.
        """
        number = self._begun[name] = self._begun.get(name, 0) + 1
        self._coming[name] = offsets

        def write() -> None:
            with self._one_at_a_time:
                if self._begun[name] == number:
                    checkpoint.write_offsets(self._pool, f"{self.path}/{name}", offsets)

        return write

    def checkpoint_written(self, name: str, offsets: dict[Partition, int]) -> None:
        """The file says this now, unless another was begun."""
        if self._coming.get(name) is offsets:
            self._written[name] = self._coming.pop(name)

    def write_checkpoint(self, name: str, offsets: dict[Partition, int]) -> None:
        """Durable when it returns."""
        self.begin_checkpoint(name, offsets)()
        self.checkpoint_written(name, offsets)

    def forget(self, key: Partition) -> None:
        """A log is going to be made: nothing on file may be taken for its own after a crash.

        What the checkpoints say of an earlier log of that name would move the start of the new one,
        and so delete its records.
        """
        assert key not in self.logs, f"{key} exists"
        for name, offsets in (
            (checkpoint.RECOVERY_POINTS, self.recovery_points),
            (checkpoint.HIGH_WATERMARKS, self.high_watermarks),
            (checkpoint.LOG_STARTS, self.log_starts),
        ):
            if key in self._written.get(name, ()) or key in self._coming.get(name, ()):
                self.write_checkpoint(name, offsets())

    def cut(self, key: Partition) -> None:
        """A log was made shorter: the file must not say that more of it is on the disk.

        It will be longer again, and then what is new would be trusted after a crash.
        """
        name, point = checkpoint.RECOVERY_POINTS, self.logs[key].recovery_point
        files = self._written.get(name, {}), self._coming.get(name, {})
        if any(offsets.get(key, 0) > point for offsets in files):
            self.write_checkpoint(name, self.recovery_points())

    def recovery_points(self) -> dict[Partition, int]:
        return {key: log.recovery_point for key, log in self.logs.items()}

    def high_watermarks(self) -> dict[Partition, int]:
        return {key: log.high_watermark for key, log in self.logs.items()}

    def log_starts(self) -> dict[Partition, int]:
        """Only those that the first segment does not tell."""
        return {
            key: log.start_offset
            for key, log in self.logs.items()
            if log.start_offset > log.segments.first.base_offset
        }

"""What the disks of a node say before it starts: whose they are, and whether metadata is there.

Logs that the metadata does not know are moved aside when a broker starts.  A node that finds logs
and no metadata at all was started in another way than before: it must not, or all it has is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.controller.embedded_journal import DIRECTORY
from barnabas.storage.directory import DirectoryRefused, holds_logs, read_meta

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.storage.fs import FilePool

RETIRED = f"{DIRECTORY}.in-zookeeper"
"""What the journal of a node is called that has brought its metadata into ZooKeeper."""


def known_cluster_id(config: BrokerConfig, pool: FilePool) -> str | None:
    """The one that a log directory belongs to; None if they are all new."""
    for directory in (*config.log_dirs, config.metadata_log_dir):
        try:
            meta = read_meta(pool, directory)
        except StorageFailed:
            continue  # whoever takes the directory says so; the others may do
        if meta is not None:
            return meta.cluster_id
    return None


def has_journal(journal: JournalFiles) -> bool:
    """A broken disk has none: what it had is of no use to anybody."""
    try:
        return bool(journal.names())
    except StorageFailed:
        return False


def check_not_of_a_cluster(config: BrokerConfig, pool: FilePool, journal: JournalFiles) -> None:
    """DirectoryRefused if a node that is to be its own controller has logs of a cluster whose
    controller is, or was, elsewhere."""
    if journal.names():
        return
    for directory in config.log_dirs:
        if _holds_logs(pool, directory):
            raise DirectoryRefused(
                f"{directory} has partitions, and {config.metadata_log_dir} has no metadata that "
                "knows them. Is it the directory of a broker whose controller is elsewhere? Then "
                "controller.quorum.bootstrap.servers or zookeeper.connect has to say where."
            )


def _holds_logs(pool: FilePool, directory: str) -> bool:
    try:
        return pool.exists(directory) and holds_logs(pool, directory)
    except StorageFailed:
        return False  # as above


def retire_journal(config: BrokerConfig, pool: FilePool) -> None:
    """The metadata is in ZooKeeper now.  What this node had is kept, but nobody goes by it again:
    neither this node without ZooKeeper, nor a ZooKeeper that is another one."""
    pool.rename(f"{config.metadata_log_dir}/{DIRECTORY}", f"{config.metadata_log_dir}/{RETIRED}")
    pool.sync_directory(config.metadata_log_dir)

"""What a new cluster starts from: its feature levels, in Kafka's own bootstrap file.

Formatting a directory writes `bootstrap.checkpoint`, a snapshot file that a controller reads while
its journal is empty; `kafka-storage format` writes the same.  The cluster's and the node's ids are
in `meta.properties`, which belongs to the log directories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed
from barnabas.base.ids import id_text, random_id
from barnabas.controller import journal_format
from barnabas.controller.decider.features import INITIAL, METADATA_VERSION
from barnabas.protocol.messages.metadata_records import FeatureLevelRecord

if TYPE_CHECKING:
    from barnabas.controller.journal_files import JournalFiles
    from barnabas.protocol.message import Message

BOOTSTRAP = "bootstrap.checkpoint"


def new_cluster_id() -> str:
    """A random id for a cluster that was not given one."""
    return id_text(random_id())


def initial_records(levels: Mapping[str, int] | None = None) -> list[Message]:
    """The first records of a cluster: each feature at its level, metadata.version first."""
    wanted = dict(INITIAL if levels is None else levels)
    assert METADATA_VERSION in wanted, "a cluster has a metadata.version"
    names = [METADATA_VERSION, *sorted(name for name in wanted if name != METADATA_VERSION)]
    return [FeatureLevelRecord(name=name, feature_level=wanted[name]) for name in names]


def format_directory(
    files: JournalFiles, *, now_ms: int, levels: Mapping[str, int] | None = None
) -> None:
    """Write the bootstrap file into the log directory that holds the metadata, if it has none."""
    if BOOTSTRAP not in files.names():
        records = initial_records(levels)
        data = journal_format.encode_snapshot(records, epoch=0, now_ms=now_ms, last_timestamp=0)
        files.replace(BOOTSTRAP, data)


def read_bootstrap(files: JournalFiles) -> list[Message]:
    """The first records, from the bootstrap file or, where there is none, those of this release."""
    if BOOTSTRAP not in files.names():
        return initial_records()
    data = files.read(BOOTSTRAP)
    if not journal_format.is_whole_snapshot(data):
        raise StorageFailed(f"{BOOTSTRAP} is damaged")
    records, _ = journal_format.decode_snapshot(data)
    return list(records)

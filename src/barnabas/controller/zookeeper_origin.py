"""How a node that was a cluster of its own brings its metadata into ZooKeeper.

Its journal becomes the first snapshot of the journal there: offsets and epochs go on from where
they were.  That is done before anybody was ever elected there, or not at all; `/barnabas/origin`
says whose journal it was, so that the same node is known when it starts again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.controller import journal_format as fmt
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.image import ClusterImage
from barnabas.controller.zookeeper import Create, NodeExists, Put, ZooKeeper, ensure
from barnabas.controller.zookeeper_layout import Head

if TYPE_CHECKING:
    from barnabas.controller.journal_files import JournalFiles

ORIGIN = f"{layout.ROOT}/origin"


class NotFirst(Exception):  # noqa: N818 (says what happened)
    """There is metadata in ZooKeeper already, and it is not this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The metadata of a node that was a cluster of its own."""

    node_id: int
    image: ClusterImage

    @property
    def mark(self) -> bytes:
        """What `/barnabas/origin` says of it."""
        fields = {
            "version": 1,
            "node": self.node_id,
            "end_offset": self.image.applied_offset + 1,
            "epoch": self.image.applied_epoch,
        }
        return json.dumps(fields).encode()


def read_origin(files: JournalFiles, *, node_id: int, cluster_id: str) -> Origin | None:
    """What the node's own journal says; None if it has none."""
    if not files.names():
        return None
    journal = EmbeddedJournal(files, node_id=node_id)
    if journal.is_empty:
        return None
    image = ClusterImage(cluster_id)
    image.load_journal(journal)
    return Origin(node_id=node_id, image=image)


async def bring_in(zk: ZooKeeper, origin: Origin, *, now_ms: int) -> bool:
    """Make it the beginning of the journal in ZooKeeper; False if that was done before.

    `NotFirst` if something else is there.
    """
    await ensure(zk, *layout.PERSISTENT)
    found = await zk.look(ORIGIN)
    if found is not None and found.data == origin.mark:
        return False
    if await zk.look(layout.HEAD) is not None:
        raise NotFirst
    image = origin.image
    head = Head(
        end_offset=image.applied_offset + 1,
        epoch=image.applied_epoch,
        snapshot=layout.snapshot_name(image.applied_offset + 1, image.applied_epoch),
    )
    await _write_snapshot(zk, f"{layout.SNAPSHOTS}/{head.snapshot}", origin, now_ms)
    try:
        # Nobody is elected without this epoch: if it can be made, nobody ever was.
        await zk.write(
            Create(layout.CONTROLLER_EPOCH, str(head.epoch).encode()),
            Create(layout.HEAD, head.encode()),
            Create(ORIGIN, origin.mark),
        )
    except NodeExists:
        raise NotFirst from None
    return True


async def _write_snapshot(zk: ZooKeeper, folder: str, origin: Origin, now_ms: int) -> None:
    """An earlier attempt may have left parts of it."""
    await ensure(zk, folder)
    batches = fmt.snapshot_batches(
        origin.image.dump(),
        epoch=origin.image.applied_epoch,
        now_ms=now_ms,
        last_timestamp=now_ms,
    )
    pieces = (piece for batch in batches for piece in layout.pieces(batch))
    for number, piece in enumerate(pieces):
        path = f"{folder}/{number:05}"
        try:
            await zk.write(Create(path, piece))
        except NodeExists:
            await zk.write(Put(path, piece))

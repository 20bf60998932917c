"""A broker's own image of the cluster, kept up to date by fetching the controller's metadata log.

One fetch is always under way: it waits at the controller until there is news.  A broker that is
new, too far behind, or that has read something which the present controller does not have, takes a
snapshot and goes on from there; whoever holds the image keeps it, and is told what changed.

While no controller answers the image stays as it is, and the broker goes on.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from barnabas.base.errors import ErrorCode
from barnabas.controller import journal_format as fmt
from barnabas.controller.embedded_journal import TOPIC_ID
from barnabas.controller.image import ClusterImage, ImageChanges
from barnabas.controller.image_exchange import exchange
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from barnabas.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    RequestPartitionSnapshot,
    RequestTopicSnapshot,
    SnapshotId,
)
from barnabas.records.batch import iter_headers

if TYPE_CHECKING:
    from barnabas.broker.controller_link import ControllerLink
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.fetch import PartitionData

logger = logging.getLogger("barnabas.metadata")

OnChanges = Callable[[ClusterImage, ImageChanges], None]

WAIT_MS = 500
"""How long a fetch waits at the controller for news."""
METADATA_TOPIC = "__cluster_metadata"


class MetadataFollower:
    """`start`, then `caught_up`; from then on `image` is that of the cluster."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        link: ControllerLink,
        *,
        node_id: int,
        cluster_id: str,
        fetch_bytes: int,
        snapshot_bytes: int,
    ) -> None:
        self.image = ClusterImage(cluster_id)
        self.on_changes: OnChanges | None = None
        """Told of each run that was applied, and of what a snapshot changed."""
        self.on_found: Callable[[], None] = lambda: None
        """Called when a controller answers after one did not."""
        self._has_failed = False
        self._loop = loop
        self._link = link
        self._node_id = node_id
        self._fetch_bytes = fetch_bytes
        self._snapshot_bytes = snapshot_bytes
        self._reader = fmt.RunReader()
        self._high_watermark: int | None = None
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._caught_up: asyncio.Future[None] = loop.create_future()
        self._pause: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def start(self) -> None:
        self._fetch()

    async def caught_up(self) -> None:
        """Return when everything is applied that was committed when the controller answered."""
        await self._caught_up

    def when_reached(self, offset: int, call: Callable[[], None]) -> None:
        """Call when the record at `offset` is applied: now, if it is already."""
        if offset <= self.image.applied_offset:
            call()
        else:
            self._waiting.append((offset, call))

    def stop(self) -> None:
        """Follow no more.  Those who wait for an offset are not called."""
        self._is_stopped = True
        self._waiting.clear()
        if self._pause is not None:
            self._pause.cancel()

    # -- the log

    def _fetch(self) -> None:
        self._pause = None
        at = FetchPartition(
            partition=0,
            fetch_offset=self.image.applied_offset + 1,
            last_fetched_epoch=self.image.applied_epoch,
        )
        request = FetchRequest(
            cluster_id=self.image.cluster_id,
            replica_state=ReplicaState(replica_id=self._node_id),
            max_wait_ms=WAIT_MS if self._caught_up.done() else 0,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            topics=[FetchTopic(topic=METADATA_TOPIC, topic_id=TOPIC_ID, partitions=[at])],
        )
        self._link.follow(request, self._fetched)

    def _fetched(self, response: Any) -> None:
        if self._is_stopped:
            return
        data = _of_metadata(response)
        if data is None or data.error_code:
            self._failed("the controller answers %s", _why(response, data))
            return
        if self._has_failed:
            self._has_failed = False
            self.on_found()
        if data.snapshot_id.end_offset >= 0:
            self._fetch_snapshot(data.snapshot_id.end_offset, data.snapshot_id.epoch, bytearray())
            return
        if data.diverging_epoch.end_offset >= 0:
            logger.warning(
                "metadata up to offset %d is not the controller's, whose end is %d: read anew",
                self.image.applied_offset,
                data.diverging_epoch.end_offset,
            )
            self._read_anew()
            return
        self._apply(data)

    def _apply(self, data: PartitionData) -> None:
        try:
            records = bytes(cast("memoryview", data.records or b""))
            for position, header in iter_headers(records):
                batch = records[position : position + header.size_bytes]
                for run in self._reader.read(batch, header):
                    if run.last_offset > self.image.applied_offset:
                        self._replay(run)
        except Exception:
            # Replaying has no other way to fail than a fault of ours: what is applied may be half
            # of a run, so that only a whole new image helps.
            logger.exception("the metadata log cannot be followed: read anew")
            self._failed("a fault of our own", then=self._read_anew)
            return
        self._high_watermark = data.high_watermark
        self._progress()
        self._fetch()

    def _replay(self, run: Any) -> None:
        changes = self.image.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)
        self._tell(changes)

    def _tell(self, changes: ImageChanges) -> None:
        if self.on_changes is None:
            return
        try:
            self.on_changes(self.image, changes)
        except Exception:
            logger.exception("a change of metadata could not be applied")

    def _progress(self) -> None:
        applied = self.image.applied_offset
        reached = [call for offset, call in self._waiting if offset <= applied]
        if reached:
            self._waiting = [one for one in self._waiting if one[0] > applied]
            for call in reached:
                try:
                    call()
                except Exception:
                    logger.exception("a request could not be answered")  # the others still are
        assert self._high_watermark is not None
        if applied + 1 >= self._high_watermark and not self._caught_up.done():
            self._caught_up.set_result(None)

    # -- snapshots

    def _read_anew(self) -> None:
        """Ask as somebody who has nothing: for the beginning of the log, or a snapshot."""
        request = FetchRequest(
            cluster_id=self.image.cluster_id,
            replica_state=ReplicaState(replica_id=self._node_id),
            max_bytes=self._fetch_bytes,
            topics=[
                FetchTopic(
                    topic=METADATA_TOPIC,
                    topic_id=TOPIC_ID,
                    partitions=[FetchPartition(partition=0, fetch_offset=0)],
                )
            ],
        )
        self._link.follow(request, self._fetched_anew)

    def _fetched_anew(self, response: Any) -> None:
        if self._is_stopped:
            return
        data = _of_metadata(response)
        if data is None or data.error_code:
            self._failed("the controller answers %s", _why(response, data), then=self._read_anew)
        elif data.snapshot_id.end_offset >= 0:
            self._fetch_snapshot(data.snapshot_id.end_offset, data.snapshot_id.epoch, bytearray())
        else:
            self._take(ClusterImage(self.image.cluster_id))
            self._apply(data)

    def _fetch_snapshot(self, end_offset: int, epoch: int, got: bytearray) -> None:
        snapshot = RequestPartitionSnapshot(
            partition=0,
            current_leader_epoch=-1,
            snapshot_id=SnapshotId(end_offset=end_offset, epoch=epoch),
            position=len(got),
        )
        request = FetchSnapshotRequest(
            cluster_id=self.image.cluster_id,
            replica_id=self._node_id,
            max_bytes=self._snapshot_bytes,
            topics=[RequestTopicSnapshot(name=METADATA_TOPIC, partitions=[snapshot])],
        )

        def answered(response: Any) -> None:
            if self._is_stopped:
                return
            data = _of_metadata(response)
            if data is None or data.error_code:
                self._failed("the controller answers %s", _why(response, data))
                return
            got.extend(data.unaligned_records)
            if len(got) < data.size:
                self._fetch_snapshot(end_offset, epoch, got)
            else:
                self._load_snapshot(bytes(got), end_offset, epoch)

        self._link.follow(request, answered)

    def _load_snapshot(self, data: bytes, end_offset: int, epoch: int) -> None:
        if not fmt.is_whole_snapshot(data):
            self._failed("snapshot %d-%d is damaged", end_offset, epoch)
            return
        newer = ClusterImage(self.image.cluster_id)
        try:
            newer.load_snapshot(fmt.decode_snapshot(data)[0], end_offset=end_offset, epoch=epoch)
        except Exception:
            logger.exception("snapshot %d-%d cannot be read", end_offset, epoch)
            self._failed("a fault of our own")
            return
        self._take(newer)
        self._high_watermark = max(self._high_watermark or 0, end_offset)
        logger.info("metadata taken from the snapshot at offset %d", end_offset)
        self._fetch()

    def _take(self, newer: ClusterImage) -> None:
        self._reader = fmt.RunReader()
        self._tell(exchange(self.image, newer))

    def _failed(self, text: str, *values: object, then: Callable[[], None] | None = None) -> None:
        logger.debug(text, *values)
        self._has_failed = True
        self._pause = self._loop.call_later(self._link.retry_s, then or self._fetch)


def _of_metadata(response: Any) -> Any:
    """What the answer says of the one partition, whichever message it is."""
    if response is None or response.error_code:
        return None
    topics = getattr(response, "responses", None) or getattr(response, "topics", None) or ()
    return topics[0].partitions[0] if topics and topics[0].partitions else None


def _why(response: Message | None, data: Any) -> str:
    if response is None:
        return "nothing"
    code = data.error_code if data is not None else getattr(response, "error_code", 0)
    return ErrorCode(code).name

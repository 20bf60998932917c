"""The metadata log as brokers fetch it: waiting for news, snapshots, who has read how far.

What is sent is decided in `controller/metadata_log.py`; here it is parked, woken and put into
Kafka's messages.  Loop thread only, but for the encoding of snapshots, which takes long in a large
cluster and is a worker's.  Lives as long as the controller is active.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.broker.dispatch import Later
from barnabas.controller import journal_format as fmt
from barnabas.controller.metadata_log import Batches, Diverging, MetadataLog, SnapshotId, TooOld

if TYPE_CHECKING:
    from barnabas.base.clock import Clock
    from barnabas.controller.controller import Controller
    from barnabas.protocol.message import Message
    from barnabas.storage.workers import Workers

logger = logging.getLogger("barnabas.metadata")

Found = Batches | SnapshotId | Diverging


@dataclass(slots=True)
class Reader:
    """What is known of a broker that follows."""

    fetch_offset: int = -1
    fetched_ms: int = -1
    caught_up_ms: int = -1


class _Parked:
    """A fetch at the end of the log."""

    __slots__ = ("answer", "later", "timer")

    def __init__(self, later: Later, answer: Callable[[], Message]) -> None:
        self.later = later
        self.answer = answer
        self.timer: asyncio.TimerHandle | None = None


@dataclass(slots=True)
class _Snapshot:
    """Named as soon as it is wanted; its bytes come later."""

    id: SnapshotId
    data: bytes | None = None
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def tell(self) -> None:
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call()


class MetadataFeed:
    """Followers of one controller, in one epoch of it."""

    def __init__(
        self,
        controller: Controller,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        workers: Workers,
        *,
        node_id: int,
        epoch: int,
    ) -> None:
        image = controller.image
        self.node_id = node_id
        self.epoch = epoch
        self.log = MetadataLog(end_offset=image.applied_offset + 1, epoch=image.applied_epoch)
        self.readers: dict[int, Reader] = {}
        self._controller = controller
        self._loop = loop
        self._clock = clock
        self._workers = workers
        self._parked: dict[_Parked, None] = {}  # a set would have no order
        self._snapshot: _Snapshot | None = None
        controller.log = self.log
        controller.follow(lambda image, changes: self._wake())

    @property
    def cluster_id(self) -> str:
        return self._controller.image.cluster_id

    def read(self, reader_id: int, offset: int, epoch: int, *, max_bytes: int) -> Found:
        """What follows `offset`, for a reader whose last record has `epoch`."""
        found = self.log.read(offset, epoch, max_bytes=max_bytes)
        self._note(reader_id, offset)
        if isinstance(found, Batches):
            self._controller.saw(reader_id, offset - 1)
        return self._snapshot_id() if isinstance(found, TooOld) else found

    def _note(self, reader_id: int, offset: int) -> None:
        if reader_id < 0:
            return
        reader = self.readers.setdefault(reader_id, Reader())
        reader.fetch_offset, reader.fetched_ms = offset, self._clock.now_ms()
        if offset >= self.log.end_offset:
            reader.caught_up_ms = reader.fetched_ms

    # -- waiting

    def park(self, answer: Callable[[], Message], *, wait_s: float) -> Later:
        """An answer that `answer` makes at the next commit, or when the time is up."""
        parked = _Parked(Later(), answer)
        parked.timer = self._loop.call_later(wait_s, self._resolve, parked)
        parked.later.on_abandon = lambda: self._forget(parked)
        self._parked[parked] = None
        return parked.later

    def _wake(self) -> None:
        for parked in list(self._parked):
            self._resolve(parked)

    def _resolve(self, parked: _Parked) -> None:
        if parked in self._parked:
            self._forget(parked)
            parked.later.resolve(parked.answer())

    def _forget(self, parked: _Parked) -> None:
        self._parked.pop(parked, None)
        if parked.timer is not None:
            parked.timer.cancel()

    def close(self) -> None:
        """The controller is one no more: whoever waits is told at once, by `answer`."""
        self._wake()
        if self._snapshot is not None:
            self._snapshot.tell()

    # -- snapshots

    def _snapshot_id(self) -> SnapshotId:
        """Of the last one, if reading can go on from there, else of a new one."""
        if self._snapshot is None or self._snapshot.id.end_offset < self.log.start_offset:
            return self._begin_snapshot()
        return self._snapshot.id

    def _begin_snapshot(self) -> SnapshotId:
        image, now_ms = self._controller.image.frozen(), self._clock.now_ms()
        made = _Snapshot(SnapshotId(image.applied_offset + 1, image.applied_epoch))
        self._snapshot = made
        encoded: list[bytes] = []

        def encode() -> None:
            """On the worker's thread."""
            encoded.append(
                fmt.encode_snapshot(
                    image.dump(), epoch=made.id.epoch, now_ms=now_ms, last_timestamp=now_ms
                )
            )

        def done(error: Exception | None) -> None:
            if error is None:
                made.data = encoded[0]
            else:
                logger.error("the metadata cannot be made into a snapshot", exc_info=error)
                if self._snapshot is made:
                    self._snapshot = None  # the next one who needs it has it tried again
            made.tell()

        self._workers.submit(encode, done)
        return made.id

    def when_encoded(self, call: Callable[[], None]) -> None:
        """Call when no snapshot is being made: at once, if none is."""
        if self._snapshot is None or self._snapshot.data is not None:
            call()
        else:
            self._snapshot.waiting.append(call)

    def snapshot(self, wanted: SnapshotId) -> bytes | None:
        """That snapshot; None if it is not kept any more."""
        if self._snapshot is None or self._snapshot.id != wanted:
            return None
        return self._snapshot.data

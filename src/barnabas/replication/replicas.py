"""All partitions of this broker: found by name and by id, created and dropped as metadata says.

Loop thread only.  Appends are gathered over a loop turn; `write_dirty` writes each log once, moves
high watermarks, then answers produces and wakes the fetches that waited.  What a leader does with
its followers' fetches is in `leading.py`, what a follower does with a leader's answers in
`following.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ErrorCode,
    StorageFailed,
)
from barnabas.replication import leading
from barnabas.replication.held import refuse, release
from barnabas.replication.opening import Opening
from barnabas.replication.partition import Partition, Terms
from barnabas.replication.partition_table import PartitionTable
from barnabas.replication.purgatory import Purgatory, Waiters
from barnabas.replication.throttle import Throttle
from barnabas.storage.fs import is_disk_full

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, ImageChanges, PartitionImage
    from barnabas.records.validate import Validated
    from barnabas.storage.config import LogConfig
    from barnabas.storage.log import Appended
    from barnabas.storage.manager import LogManager

logger = logging.getLogger("barnabas.replicas")


class ReplicaManager(PartitionTable):
    """The partitions that this broker has a replica of."""

    def __init__(
        self,
        *,
        node_id: int,
        logs: LogManager,
        topic_config: Callable[[str], LogConfig],
        lag_s: float = 30.0,
        monotonic: Callable[[], float] = lambda: 0.0,
    ) -> None:
        super().__init__()
        self.node_id = node_id
        self.terms = Terms(lag_s=lag_s, eligible=self.may_be_in_sync, monotonic=monotonic)
        self.dirty: list[Partition] = []
        self.fetches = Purgatory()
        self.produces = Purgatory()
        self.leader_throttle = Throttle()
        self.follower_throttle = Throttle()
        self.tells_watermarks = False
        """Followers are told of a new high watermark at once: consumers read from them."""
        self.tails: dict[int, Waiters] = {}
        """Fetches of each other broker that wait for a log to grow, by the broker's id."""
        self.on_moved: Callable[[Partition], None] = lambda partition: None
        """Told of each partition that changed its leader, came or went."""
        self.on_isr_wanted: Callable[[Partition], None] = lambda partition: None
        """Told of each partition whose in-sync set the controller is to change."""
        self.on_unopened: Callable[[], None] = lambda: None
        """Told when `open_more` has something to do."""
        self._opening = Opening(logs, topic_config)
        self.logs = logs
        self._topic_config = topic_config
        self._before_write: list[Callable[[], None]] = []
        self._after_write: list[Callable[[], None]] = []
        self._gathered: list[Partition] | None = None

    # -- metadata

    def load(self, image: ClusterImage) -> None:
        """Begin with the partitions that were there when this broker last stopped.

        While a log directory is broken, one without a log may have it there: it stays offline, as
        an empty log in its place would let records vanish and offsets be used twice.
        """
        usable = self.logs.usable_directories()
        self._opening.is_whole = len(usable) == len(self.logs.directories)
        self.apply(image, image.as_changes())
        while self.open_more():
            pass
        self._opening.is_whole = True

    def apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        """Follow the journal, to `image`; who waits for several partitions is woken once."""
        self._image = image
        moved = self._gathered = []
        self._opening.begin()
        try:
            self._apply(image, changes)
        finally:
            self._gathered = None
            self._wake_all(moved)
        if self._opening:
            self.on_unopened()

    def _apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        for topic_id, topic in changes.topics_deleted.items():
            for index in range(len(topic.partitions)):
                self._drop(topic_id, index)
        for topic_id, index in changes.partitions:
            found = image.topics_by_id.get(topic_id)
            if found is not None:
                self._update(found.name, topic_id, index, found.partitions[index])

    def reconfigure(self, topic: str) -> None:
        """The settings of a topic changed: its logs follow at once."""
        config = self._topic_config(topic)
        found = self._image.topics.get(topic) if self._image else None
        for index in range(len(found.partitions) if found else 0):
            partition = self._by_name.get((topic, index))
            if partition is not None and partition.log is not None:
                partition.log.reconfigure(config)
                partition.configure(config)

    def _update(self, topic: str, topic_id: bytes, index: int, state: PartitionImage) -> None:
        partition = self._by_id.get((topic_id, index))
        if self.node_id not in state.replicas:
            if partition is not None:
                self._drop(topic_id, index)
            return
        if partition is None:
            partition = self._create(topic, topic_id, index)
        if partition.dirty:  # what was queued is of the leader that was
            self.write_dirty()
        partition.set_leadership(
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            replicas=state.replicas,
            isr=state.isr,
        )
        self._moved(partition)

    def _create(self, topic: str, topic_id: bytes, index: int) -> Partition:
        partition = Partition(
            node_id=self.node_id,
            topic=topic,
            index=index,
            topic_id=topic_id,
            terms=self.terms,
        )
        self._by_name[topic, index] = partition
        self._by_id[topic_id, index] = partition
        self._opening.soon(partition)
        return partition

    def open_more(self) -> list[Partition]:
        """Make some of the logs that one change of metadata wanted too many of; which.

        Until then clients are told that somebody else leads, and ask again.
        """
        opened: list[Partition] = []
        self._opening.begin()
        while (partition := self._opening.take()) is not None:
            if self._by_id.get((partition.topic_id, partition.index)) is partition:
                self._open_now(partition)
                opened.append(partition)
        if self._opening:
            self.on_unopened()
        return opened

    def _open_now(self, partition: Partition) -> None:
        self._opening.now(partition)
        if partition.log is not None:
            partition.lead_from_here()
            self._moved(partition)

    def retry_full_disk(self) -> list[Partition]:
        """Make the logs that a full disk did not let us make; which.  Called now and then."""
        refused = [
            partition
            for partition in self._by_name.values()
            if partition.error is not None and is_disk_full(partition.error)
        ]
        for partition in refused:
            self._open_now(partition)
        return [partition for partition in refused if partition.log is not None]

    def _drop(self, topic_id: bytes, index: int) -> None:
        partition = self._by_id.pop((topic_id, index), None)
        if partition is None:
            return
        if partition.dirty:  # its answers must not outlive its log
            self.write_dirty()
        if self._by_name.get((partition.topic, index)) is partition:
            del self._by_name[partition.topic, index]
        partition.is_leader = False
        partition.followers = None
        log, partition.log = partition.log, None
        if log is not None:
            try:
                self.logs.delete(log)
            except StorageFailed as failure:  # the next start moves it aside
                logger.warning("%s-%d could not be deleted: %s", partition.topic, index, failure)
                self.logs.write_failed(log, failure)
        self._moved(partition)

    def forget_failed_logs(self) -> None:
        """A log directory failed: its partitions answer KAFKA_STORAGE_ERROR from now on."""
        for partition in self._by_name.values():
            log = partition.log
            if log is not None and self.logs.get(partition.topic, partition.index) is not log:
                partition.log = None
                partition.followers = None
                partition.error = StorageFailed("its log directory failed")
                self._moved(partition)

    def _moved(self, partition: Partition) -> None:
        """Leader, in-sync set or log are others than before."""
        self.on_moved(partition)
        if self._gathered is None:
            self._wake_all([partition])
        else:
            self._gathered.append(partition)

    def _wake_all(self, moved: Sequence[Partition]) -> None:
        self.wake(*moved)
        shared = [partition for partition in moved if not partition.is_alone]
        self.wake_followers({replica for partition in shared for replica in partition.replicas})

    def wake(self, *partitions: Partition) -> None:
        """Their high watermarks moved, or more than that: try what waits for them."""
        for partition in partitions:
            if partition.held:
                release(partition)
        waited_for = [partition for partition in partitions if partition.waiters]
        if waited_for:
            self.fetches.touched(*waited_for)
            self.produces.touched(*waited_for)

    def wake_followers(self, node_ids: Iterable[int]) -> None:
        """There is something for them to fetch."""
        for node_id in sorted(node_ids):
            tail = self.tails.get(node_id)
            if tail is not None and tail.waiters:
                self.fetches.touched(tail)

    def tail(self, node_id: int) -> Waiters:
        """Where the fetches of that broker wait."""
        return self.tails.setdefault(node_id, Waiters())

    # -- appends

    def append(
        self,
        partition: Partition,
        data: memoryview | Validated,
        *,
        acks: int,
        now_ms: int,
        zstd_allowed: bool = True,
        zero_start: bool = False,
        patient: bool = True,
    ) -> Appended:
        """Queue a batch for the next `write_dirty`; until then `data` must not change.

        For the rest see `Log.append_as_leader`.
        """
        try:
            appended = partition.append(
                data,
                acks=acks,
                now_ms=now_ms,
                zstd_allowed=zstd_allowed,
                zero_start=zero_start,
                patient=patient,
            )
        except StorageFailed as failure:
            self.append_failed(partition, failure)
            raise
        self.mark_dirty(partition)
        return appended

    def append_marker(
        self,
        partition: Partition,
        *,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
        now_ms: int,
    ) -> Appended:
        """Queue the marker that ends a producer's transaction in this partition."""
        log = partition.leader_log()
        try:
            appended = log.append_control(
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                is_commit=is_commit,
                coordinator_epoch=coordinator_epoch,
                leader_epoch=partition.leader_epoch,
                now_ms=now_ms,
                transaction_version=transaction_version,
            )
        except StorageFailed as failure:
            self.append_failed(partition, failure)
            raise
        self.mark_dirty(partition)
        return appended

    def append_failed(self, partition: Partition, failure: StorageFailed) -> None:
        """The log could not be written, or could not begin a new segment."""
        if partition.log is not None:
            self.logs.write_failed(partition.log, failure)
            if is_disk_full(failure):
                leading.resign(self, partition)

    def append_internal(self, partition: Partition, data: memoryview, *, now_ms: int) -> Appended:
        """`append` for the coordinators' own batches."""
        appended = partition.append_internal(data, now_ms=now_ms)
        self.mark_dirty(partition)
        return appended

    def mark_dirty(self, partition: Partition) -> None:
        if not partition.dirty:
            partition.dirty = True
            self.dirty.append(partition)

    def before_write(self, callback: Callable[[], None]) -> None:
        """Call back before the next write: for who gathers what it appends."""
        self._before_write.append(callback)

    def after_write(self, callback: Callable[[], None]) -> None:
        """Call back once everything appended so far is written, or has failed to be.

        A partition whose write failed has its `write_failure` set during the call.
        """
        self._after_write.append(callback)

    def write_dirty(self) -> None:
        """Write what was appended, answer those who wait for it, make it visible to readers.

        If the disk refuses for any reason but lack of space, the log's directory is given up.
        """
        while self._before_write or self.dirty or self._after_write:
            gathering, self._before_write = self._before_write, []
            _call_all(gathering, "something gathered could not be appended")
            dirty, self.dirty = self.dirty, []
            callbacks, self._after_write = self._after_write, []
            followers: set[int] = set()
            visible: list[Partition] = []
            for partition in dirty:
                self._write(partition)
                if partition.write_failure is None and partition.is_leader:
                    if partition.followers is not None:
                        followers.update(partition.followers.by_id)
                    if partition.log is not None and partition.advance_high_watermark():
                        visible.append(partition)
            _call_all(callbacks, "a write could not be answered")
            for partition in dirty:
                partition.write_failure = None
                if partition.held:  # also a batch that was sent again and is long replicated
                    release(partition)
            for partition in visible:
                self.wake(partition)
            if followers:
                self.wake_followers(followers)

    def _write(self, partition: Partition) -> None:
        partition.dirty = False
        log = partition.log
        try:
            if log is None:
                raise partition.error or StorageFailed
            log.write_pending()
        except Exception as error:
            failure = _as_storage_failure(partition, error)
            if not partition.is_refusing:  # said once, not for each batch of a full disk
                logger.warning("%s-%d refuses: %s", partition.topic, partition.index, failure)
                partition.is_refusing = True
            partition.write_failure = failure
            refuse(partition.unconfirmed)
            partition.held.refuse_from(
                -1 if log is None else log.written_end_offset, ErrorCode.KAFKA_STORAGE_ERROR
            )
            self.append_failed(partition, failure)
        else:
            if partition.is_refusing:
                logger.info("%s-%d is written again", partition.topic, partition.index)
                partition.is_refusing = False
        partition.unconfirmed.clear()

    # -- time

    def next_deadline(self) -> float | None:
        """When `expire` must be called."""
        fetch, produce = self.fetches.next_deadline(), self.produces.next_deadline()
        return min((each for each in (fetch, produce) if each is not None), default=None)

    def expire(self, now: float) -> None:
        self.fetches.expire(now)
        self.produces.expire(now)


def _call_all(callbacks: list[Callable[[], None]], complaint: str) -> None:
    """What goes wrong with one does not keep the others from being called."""
    for callback in callbacks:
        try:
            callback()
        except Exception:
            logger.exception(complaint)


def _as_storage_failure(partition: Partition, error: Exception) -> StorageFailed:
    """A fault of our own, too, must not keep the other partitions from being written."""
    if isinstance(error, StorageFailed):
        return error
    logger.error("%s-%d was not written", partition.topic, partition.index, exc_info=error)
    return StorageFailed("its log cannot be written")

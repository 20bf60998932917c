"""All partitions of this broker: found by name and by id, created and dropped as metadata says.

Loop thread only.  Appends are gathered over a loop turn; `write_dirty` writes each log once, then
answers produces, moves high watermarks and wakes the fetches that waited for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ErrorCode,
    NotLeader,
    StorageFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from barnabas.replication.partition import Partition
from barnabas.replication.purgatory import Purgatory
from barnabas.storage.fs import is_disk_full

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, ImageChanges, PartitionImage
    from barnabas.records.validate import Validated
    from barnabas.storage.config import LogConfig
    from barnabas.storage.log import Appended
    from barnabas.storage.manager import LogManager

logger = logging.getLogger("barnabas.replicas")

REFUSED = Struct(">hqqq").pack(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1)
"""Error code, base offset, log append time and log start offset of a produce that failed."""


class ReplicaManager:
    """The partitions that this broker has a replica of."""

    def __init__(
        self, *, node_id: int, logs: LogManager, topic_config: Callable[[str], LogConfig]
    ) -> None:
        self.node_id = node_id
        self.dirty: list[Partition] = []
        self.fetches = Purgatory()
        self.produces = Purgatory()
        self._logs = logs
        self._topic_config = topic_config
        self._image: ClusterImage | None = None
        self._by_name: dict[tuple[str, int], Partition] = {}
        self._by_id: dict[tuple[bytes, int], Partition] = {}
        self._before_write: list[Callable[[], None]] = []
        self._after_write: list[Callable[[], None]] = []
        self._is_whole = True

    # -- look-ups

    def get(self, topic: str, index: int) -> Partition:
        partition = self._by_name.get((topic, index))
        if partition is None:
            raise self._absent(topic, index)
        return partition

    def get_by_id(self, topic_id: bytes, index: int) -> Partition:
        partition = self._by_id.get((topic_id, index))
        if partition is None:
            topic = self._image.topics_by_id.get(topic_id) if self._image else None
            raise UnknownTopicId if topic is None else self._absent(topic.name, index)
        return partition

    def find(self, topic: str, index: int) -> Partition | None:
        return self._by_name.get((topic, index))

    def all(self) -> list[Partition]:
        return list(self._by_name.values())

    def _absent(self, topic: str, index: int) -> NotLeader | UnknownTopicOrPartition:
        elsewhere = self._image is not None and self._image.partition(topic, index) is not None
        return NotLeader() if elsewhere else UnknownTopicOrPartition()

    # -- metadata

    def load(self, image: ClusterImage) -> None:
        """Begin with the partitions that were there when this broker last stopped.

        While a log directory is broken, one without a log may have it there: it stays offline, as
        an empty log in its place would let records vanish and offsets be used twice.
        """
        self._is_whole = len(self._logs.usable_directories()) == len(self._logs.directories)
        self.apply(image, image.as_changes())
        self._is_whole = True

    def apply(self, image: ClusterImage, changes: ImageChanges) -> None:
        """Follow the metadata journal: `image` is its state after `changes`."""
        self._image = image
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
                partition.min_isr = config.min_insync_replicas

    def _update(self, topic: str, topic_id: bytes, index: int, state: PartitionImage) -> None:
        partition = self._by_id.get((topic_id, index))
        if self.node_id not in state.replicas:
            if partition is not None:
                self._drop(topic_id, index)
            return
        if partition is None:
            partition = self._create(topic, topic_id, index)
        partition.set_leadership(
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            replicas=state.replicas,
            isr=state.isr,
        )
        self._moved(partition)

    def _create(self, topic: str, topic_id: bytes, index: int) -> Partition:
        partition = Partition(node_id=self.node_id, topic=topic, index=index, topic_id=topic_id)
        self._open_log(partition)
        self._by_name[topic, index] = partition
        self._by_id[topic_id, index] = partition
        return partition

    def _open_log(self, partition: Partition) -> None:
        topic, index = partition.topic, partition.index
        config = self._topic_config(topic)
        partition.min_isr = config.min_insync_replicas
        try:
            if not self._is_whole and self._logs.get(topic, index) is None:
                raise StorageFailed("its log is not in the log directories that can be used")
            partition.log = self._logs.open(topic, index, partition.topic_id, config)
            partition.error = None
        except StorageFailed as error:
            logger.warning("%s-%d is offline: %s", topic, index, error)
            partition.error = error

    def retry_full_disk(self) -> None:
        """Make the logs that a full disk did not let us make.  Called now and then."""
        for partition in self._by_name.values():
            error = partition.error
            if error is not None and is_disk_full(error):
                self._open_log(partition)
                if partition.log is not None:
                    partition.lead_from_here()

    def _drop(self, topic_id: bytes, index: int) -> None:
        partition = self._by_id.pop((topic_id, index), None)
        if partition is None:
            return
        if partition.dirty:  # its answers must not outlive its log
            self.write_dirty()
        if self._by_name.get((partition.topic, index)) is partition:
            del self._by_name[partition.topic, index]
        partition.is_leader = False
        log, partition.log = partition.log, None
        if log is not None:
            try:
                self._logs.delete(log)
            except StorageFailed as failure:  # the next start moves it aside
                logger.warning("%s-%d could not be deleted: %s", partition.topic, index, failure)
                self._logs.write_failed(log, failure)
        self._moved(partition)

    def forget_failed_logs(self) -> None:
        """A log directory failed: its partitions answer KAFKA_STORAGE_ERROR from now on."""
        for partition in self._by_name.values():
            log = partition.log
            if log is not None and self._logs.get(partition.topic, partition.index) is not log:
                partition.log = None
                partition.error = StorageFailed("its log directory failed")
                self._moved(partition)

    def _moved(self, partition: Partition) -> None:
        if partition.waiters:
            self.fetches.touched(partition)
            self.produces.touched(partition)

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
            self._append_failed(partition, failure)
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
            self._append_failed(partition, failure)
            raise
        self.mark_dirty(partition)
        return appended

    def _append_failed(self, partition: Partition, failure: StorageFailed) -> None:
        """The log could not begin a new segment."""
        if partition.log is not None:
            self._logs.write_failed(partition.log, failure)

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
            for partition in dirty:
                self._write(partition)
            _call_all(callbacks, "a write could not be answered")
            for partition in dirty:
                if partition.write_failure is not None:
                    partition.write_failure = None
                elif (
                    partition.is_leader
                    and partition.log is not None  # its directory may have failed meanwhile
                    and partition.advance_high_watermark()
                ):
                    self._moved(partition)

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
            _refuse(partition.unconfirmed)
            if log is not None:
                self._logs.write_failed(log, failure)
        else:
            if partition.is_refusing:
                logger.info("%s-%d is written again", partition.topic, partition.index)
                partition.is_refusing = False
        partition.unconfirmed.clear()

    # -- time

    def next_deadline(self) -> float | None:
        """When `expire` must be called."""
        fetch, produce = self.fetches.next_deadline(), self.produces.next_deadline()
        if fetch is None or produce is None:
            return fetch if produce is None else produce
        return min(fetch, produce)

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


def _refuse(unconfirmed: list[tuple[list[object], int, int]]) -> None:
    """Turn encoded success answers into KAFKA_STORAGE_ERROR."""
    for out, position, at in unconfirmed:
        answer = out[position]
        assert isinstance(answer, bytes)
        out[position] = answer[:at] + REFUSED + answer[at + len(REFUSED) :]

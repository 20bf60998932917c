"""What a follower does with what its leader answers: append, truncate, move its watermarks.

Functions of `ReplicaManager`, kept apart for length.  Loop thread only.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import NotLeader, StorageFailed
from barnabas.records.batch import iter_headers
from barnabas.replication.fetcher import Reset, truncation_offset

if TYPE_CHECKING:
    from barnabas.replication.partition import Partition
    from barnabas.replication.replicas import ReplicaManager
    from barnabas.storage.log import Log
    from barnabas.storage.manager import LogManager

logger = logging.getLogger("barnabas.replicas")


def follower_log(partition: Partition, leader_epoch: int) -> Log:
    """The log, if this broker still follows in that epoch."""
    if partition.is_leader or partition.leader_epoch != leader_epoch:
        raise NotLeader(f"{partition.topic}-{partition.index} has another leader now")
    if partition.log is None:
        raise partition.error or StorageFailed
    return partition.log


def append(
    replicas: ReplicaManager, partition: Partition, records: memoryview, *, now_ms: int
) -> None:
    """Queue a leader's batches for the next write; `records` must not change until then."""
    log = follower_log(partition, partition.leader_epoch)
    try:
        _begin_with_batch(replicas.logs, log, records, now_ms=now_ms)
        log.append_as_follower(records, now_ms=now_ms)
    except StorageFailed as failure:
        # Batches before the one that failed may be queued, or have failed without anybody being
        # told: the log takes nothing more before the next write has said so.
        replicas.mark_dirty(partition)
        replicas.append_failed(partition, failure)
        raise
    replicas.mark_dirty(partition)


def _begin_with_batch(logs: LogManager, log: Log, records: memoryview, *, now_ms: int) -> None:
    """A leader's log may begin in the middle of a batch, after DeleteRecords: an empty log that was
    to begin there begins with that batch.  Where it begins for readers follows with the watermarks.
    """
    if log.start_offset < log.end_offset or log.is_dirty:
        return
    _, first = next(iter_headers(records), (0, None))
    if first is not None and first.base_offset < log.end_offset <= first.last_offset:
        logs.reset(log, first.base_offset, now_ms=now_ms)


def follow_watermarks(
    replicas: ReplicaManager, partition: Partition, high_watermark: int, log_start_offset: int
) -> None:
    """What is written here and known to the leader as replicated can be read here too."""
    log = partition.log
    assert log is not None
    moved = log.advance_high_watermark(min(high_watermark, log.written_end_offset))
    if log.start_offset < log_start_offset <= log.high_watermark:
        try:
            log.delete_records_before(log_start_offset)
        except StorageFailed as failure:
            replicas.append_failed(partition, failure)
            return
    if moved:
        replicas.wake(partition)


def truncate(
    replicas: ReplicaManager, partition: Partition, leader_epoch: int, leader_end: int
) -> None:
    """Cut off what the leader does not have: its `leader_epoch` ended at `leader_end`."""
    log = _written(replicas, partition)
    offset = truncation_offset(
        leader_epoch, leader_end, log.end_of_epoch(leader_epoch), log.end_offset
    )
    if offset < log.high_watermark:
        logger.warning(
            "%s-%d is cut at %d, below its high watermark %d: its leader has nothing there",
            partition.topic,
            partition.index,
            offset,
            log.high_watermark,
        )
    _cut(replicas, partition, log, offset)


def reset(replicas: ReplicaManager, partition: Partition, to: Reset, *, now_ms: int) -> None:
    """Go on where the leader's log has something."""
    log = _written(replicas, partition)
    logger.warning(
        "%s-%d goes on at %d: its end, %d, is not in the leader's log",
        partition.topic,
        partition.index,
        to.offset,
        log.end_offset,
    )
    if not to.is_whole_log:
        _cut(replicas, partition, log, to.offset)
        return
    try:
        replicas.logs.reset(log, to.offset, now_ms=now_ms)
    except StorageFailed as failure:
        replicas.append_failed(partition, failure)
        raise


def _written(replicas: ReplicaManager, partition: Partition) -> Log:
    if partition.dirty:
        replicas.write_dirty()
    return follower_log(partition, partition.leader_epoch)


def _cut(replicas: ReplicaManager, partition: Partition, log: Log, offset: int) -> None:
    try:
        replicas.logs.truncate(log, offset)
    except StorageFailed as failure:
        replicas.append_failed(partition, failure)
        raise

"""What a leader does with its followers' fetches: the high watermark, the in-sync set.

Functions of `ReplicaManager`, kept apart for length.  Loop thread only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import NotLeader

if TYPE_CHECKING:
    from barnabas.replication.partition import Partition
    from barnabas.replication.replicas import ReplicaManager


def follower_fetched(
    replicas: ReplicaManager,
    partition: Partition,
    node_id: int,
    *,
    offset: int,
    start_offset: int,
    broker_epoch: int,
    now: float,
) -> None:
    """A follower fetches from `offset`: it has everything below.  Raises what
    `Followers.fetched` does."""
    followers, log = partition.followers, partition.log
    if followers is None or log is None:
        raise NotLeader(f"{partition.topic}-{partition.index} has no followers here")
    known = followers.by_id.get(node_id)
    before = (known.end_offset, known.start_offset) if known is not None else None
    follower = followers.fetched(
        node_id,
        offset=offset,
        start_offset=start_offset,
        broker_epoch=broker_epoch,
        leader_end=log.written_end_offset,
        now=now,
    )
    if node_id not in followers.isr and followers.may_join(follower, log.high_watermark):
        followers.ask_to_add(follower)
        replicas.on_isr_wanted(partition)
    if before != (offset, start_offset):
        moved = partition.advance_high_watermark()
        if moved or (before is not None and before[1] != start_offset):
            replicas.wake(partition)
        if moved and replicas.tells_watermarks:
            replicas.wake_followers(each for each in followers.by_id if each != node_id)


def check_lag(replicas: ReplicaManager, now: float) -> None:
    """Have those put out of the in-sync sets that have not caught up for too long."""
    for partition in replicas.all():
        followers, log = partition.followers, partition.log
        if followers is None or log is None:
            continue
        lagging = followers.lagging(log.written_end_offset, now)
        if lagging:
            followers.ask_to_remove(lagging)
            replicas.on_isr_wanted(partition)


def resign(replicas: ReplicaManager, partition: Partition) -> None:
    """This broker's disk is full: have one lead who is in sync, and may have room.

    It is in sync again when it has room and has caught up.
    """
    followers = partition.followers
    if followers is not None and followers.may_resign:
        followers.ask_to_remove((partition.node_id,))
        replicas.on_isr_wanted(partition)


def recheck(replicas: ReplicaManager, partition: Partition) -> None:
    """The high watermark may go on: somebody it waited for is no longer waited for."""
    if partition.is_leader and partition.log is not None and partition.advance_high_watermark():
        replicas.wake(partition)


def isr_refused(replicas: ReplicaManager, partition: Partition) -> None:
    """The controller will not make the change that it was asked for."""
    if partition.followers is not None and partition.followers.pending_isr is not None:
        partition.followers.refused()
        recheck(replicas, partition)


def closest_replica(
    replicas: ReplicaManager, partition: Partition, rack: str, offset: int
) -> int | None:
    """The replica in `rack` that a consumer should read `offset` from; None if it is the leader.

    One that has the offset, and of several the one that is furthest.
    """
    followers = partition.followers
    if followers is None or replicas.rack_of(replicas.node_id) == rack:
        return None
    there = [
        follower
        for follower in followers.by_id.values()
        if replicas.rack_of(follower.node_id) == rack
        and follower.start_offset <= offset <= follower.end_offset
    ]
    if not there:
        return None
    return max(there, key=lambda each: (each.end_offset, each.caught_up_at)).node_id

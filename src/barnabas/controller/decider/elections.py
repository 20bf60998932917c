"""Who leads a partition, and what becomes of the partitions of a broker that goes or comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from barnabas.controller.image_types import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    PartitionImage,
    TopicImage,
)
from barnabas.protocol.messages.metadata_records import PartitionChangeRecord

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage

IsActive = Callable[[int], bool]


class Election(NamedTuple):
    """`unclean`: the leader was not in sync, so records that were committed may be lost."""

    leader: int
    unclean: bool = False


def choose_leader(
    partition: PartitionImage,
    is_active: IsActive,
    *,
    isr: tuple[int, ...] | None = None,
    prefer_first: bool = False,
    unclean: bool = False,
) -> Election:
    """Who should lead when these brokers are active.

    The leader stays if it can; else the first replica, in the order of the replica list, that is
    in sync (`isr`, or the partition's), then one known to have everything committed, then, only if
    `unclean` is allowed, any.  `prefer_first` asks for the first replica even if the leader could
    stay.
    """
    in_sync = partition.isr if isr is None else isr
    able = [r for r in partition.replicas if r in in_sync and is_active(r)]
    if prefer_first and able and able[0] == partition.replicas[0]:
        return Election(able[0])
    if partition.leader in able:
        return Election(partition.leader)
    if able:
        return Election(able[0])
    safe = [r for r in partition.replicas if r in partition.elr and is_active(r)]
    if safe:
        return Election(safe[0])
    if unclean:
        alive = [r for r in partition.replicas if is_active(r)]
        if alive:
            return Election(alive[0], unclean=True)
    return Election(NO_LEADER)


def partition_change(
    topic_id: bytes,
    index: int,
    partition: PartitionImage,
    *,
    isr: tuple[int, ...],
    election: Election,
) -> PartitionChangeRecord | None:
    """The record that brings about this ISR and leader; None if that is what is already.

    A leader from outside the ISR becomes the whole ISR; an ISR never becomes empty: whoever was
    last in sync must come back, or be given up by an unclean election.
    """
    if election.leader != NO_LEADER and election.leader not in isr:
        isr = (election.leader,)
    isr = isr or partition.isr
    record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    if isr != partition.isr:
        record.isr = list(isr)
    if election.leader != partition.leader:
        record.leader = election.leader
    if election.unclean:
        record.leader_recovery_state = 1
    if partition.elr and set(partition.elr) & set(isr):
        record.eligible_leader_replicas = [r for r in partition.elr if r not in isr]
    unchanged = record.isr is None and record.leader == NO_LEADER_CHANGE
    return None if unchanged and not election.unclean else record


def broker_goes(
    image: ClusterImage, broker_id: int, *, unclean: Callable[[TopicImage], bool]
) -> Iterator[PartitionChangeRecord]:
    """What a broker that goes leaves: others lead its partitions, and it is not in sync."""

    def is_active(replica: int) -> bool:
        return replica != broker_id and _is_active(image, replica)

    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if broker_id not in partition.isr and partition.leader != broker_id:
                continue
            isr = tuple(r for r in partition.isr if r != broker_id)
            election = choose_leader(partition, is_active, isr=isr, unclean=unclean(topic))
            record = partition_change(topic.id, index, partition, isr=isr, election=election)
            if record is not None:
                yield record


def broker_comes(
    image: ClusterImage, broker_id: int, *, unclean: Callable[[TopicImage], bool]
) -> Iterator[PartitionChangeRecord]:
    """What a broker's return does: it leads what had no leader and may be led by it."""

    def is_active(replica: int) -> bool:
        return replica == broker_id or _is_active(image, replica)

    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if partition.leader != NO_LEADER or broker_id not in partition.replicas:
                continue
            election = choose_leader(partition, is_active, unclean=unclean(topic))
            record = partition_change(
                topic.id, index, partition, isr=partition.isr, election=election
            )
            if record is not None:
                yield record


def _is_active(image: ClusterImage, broker_id: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.is_active

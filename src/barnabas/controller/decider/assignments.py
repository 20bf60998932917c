"""New partitions: by hand, as the request says, or placed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from barnabas.controller.decider.placement import Placer
from barnabas.controller.image_types import PartitionImage

if TYPE_CHECKING:
    from random import Random

    from barnabas.controller.image import ClusterImage


def check_assignment(
    image: ClusterImage, replicas: Sequence[int], replication_factor: int | None
) -> None:
    """InvalidReplicaAssignment unless a partition can have these replicas."""
    if not replicas:
        raise InvalidReplicaAssignment(
            "The manual partition assignment includes an empty replica list."
        )
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in image.brokers:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker_id}, but no such broker "
                "is registered."
            )
        if broker_id == previous:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} "
            "replica(s), but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )


def assigned_partition(image: ClusterImage, index: int, replicas: Sequence[int]) -> PartitionImage:
    """Partition `index` on exactly these brokers, which were checked."""
    partition = new_partition(image, replicas)
    if partition is None:
        raise InvalidReplicaAssignment(
            f"All brokers specified in the manual partition assignment for partition {index} are "
            "fenced or in controlled shutdown."
        )
    return partition


def placed_partitions(
    image: ClusterImage, count: int, replication_factor: int, random: Random
) -> list[PartitionImage]:
    """That many new partitions, spread over the brokers."""
    placer = Placer(image.brokers.values(), random)
    found = []
    for _ in range(count):
        try:
            partition = new_partition(image, placer.place(replication_factor))
        except InvalidReplicationFactor as error:
            raise _cannot_replicate(replication_factor, error.message) from None
        if partition is None:
            raise _cannot_replicate(
                replication_factor, "All brokers are currently fenced or in controlled shutdown."
            )
        found.append(partition)
    return found


def _cannot_replicate(replication_factor: int, reason: str) -> InvalidReplicationFactor:
    return InvalidReplicationFactor(
        f"Unable to replicate the partition {replication_factor} time(s): {reason}"
    )


def new_partition(image: ClusterImage, replicas: Sequence[int]) -> PartitionImage | None:
    """A partition that starts with all its active replicas in sync; None if none is active."""
    isr = tuple(replica for replica in replicas if image.brokers[replica].is_active)
    if not isr:
        return None
    return PartitionImage(
        replicas=tuple(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(image.brokers[replica].default_directory() for replica in replicas),
    )

"""The cluster as a client sees it that came in on one listener.

A client is told of each broker the endpoint of its own listener; a broker that has none there does
not exist for it.  Pure functions of the image.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.controller.image_types import UNKNOWN_DIRECTORY

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.controller.image_types import BrokerImage, Endpoint, PartitionImage

NO_NODE = -1


def known_brokers(image: ClusterImage, listener: str) -> list[tuple[BrokerImage, Endpoint]]:
    """Brokers that have that listener, by id; some may be fenced."""
    found = []
    for broker_id in sorted(image.brokers):
        broker = image.brokers[broker_id]
        endpoint = broker.endpoint(listener)
        if endpoint is not None:
            found.append((broker, endpoint))
    return found


def named_brokers(
    image: ClusterImage, listener: str, also: Collection[int]
) -> list[tuple[BrokerImage, Endpoint]]:
    """Brokers that have that listener and are not fenced, and some others, by id."""
    return [
        (broker, endpoint)
        for broker, endpoint in known_brokers(image, listener)
        if not broker.fenced or broker.id in also
    ]


def controller_id(image: ClusterImage, node_id: int) -> int:
    """Where to send what only the controller can do: any broker, they all pass it on."""
    own = image.brokers.get(node_id)
    if own is not None and not own.fenced:
        return node_id
    return next((i for i in sorted(image.brokers) if not image.brokers[i].fenced), NO_NODE)


def leader_of(
    image: ClusterImage, partition: PartitionImage, listener: str, *, knows_listeners: bool = True
) -> tuple[ErrorCode, int]:
    """The leader that the client can reach, or why there is none.

    `knows_listeners`: the client's version of the protocol has LISTENER_NOT_FOUND.
    """
    leader = image.brokers.get(partition.leader)
    if leader is None:
        return ErrorCode.LEADER_NOT_AVAILABLE, NO_NODE
    if leader.endpoint(listener) is None:
        missing = ErrorCode.LISTENER_NOT_FOUND if knows_listeners else None
        return missing or ErrorCode.LEADER_NOT_AVAILABLE, NO_NODE
    return ErrorCode.NONE, leader.id


def is_reachable(image: ClusterImage, broker_id: int, listener: str) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and not broker.fenced and broker.endpoint(listener) is not None


def offline_replicas(image: ClusterImage, partition: PartitionImage, listener: str) -> list[int]:
    """Replicas on brokers that are away, or in a log directory that is."""
    offline = []
    for replica, directory in zip(partition.replicas, _directories(partition), strict=True):
        reachable = is_reachable(image, replica, listener)
        if not reachable or not image.brokers[replica].has_directory(directory):
            offline.append(replica)
    return offline


def _directories(partition: PartitionImage) -> tuple[bytes, ...]:
    return partition.directories or (UNKNOWN_DIRECTORY,) * len(partition.replicas)

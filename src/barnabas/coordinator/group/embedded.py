"""What members of classic consumer groups put into JoinGroup and SyncGroup: subscriptions and
assignments, each after its version (int16).

The coordinator only hands them on, except where it has to know: which topics a group reads, and
when a group changes its protocol.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.records import Partitions
    from barnabas.coordinator.group.topics import Topics

PROTOCOL_TYPE = "consumer"
_VERSION = struct.Struct(">h")


def read_version(data: bytes) -> int:
    """The version of a subscription or assignment, as ours if it is a later one."""
    if len(data) < 2:
        raise DecodeError(f"an embedded message of {len(data)} bytes")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise DecodeError(f"an embedded message of version {version}")
    return int(min(version, ConsumerProtocolSubscription.max_version))


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """What may follow the fields of our version is a later one's, and passed over."""
    return ConsumerProtocolSubscription.read(data, 2, read_version(data))[0]


def topics_in(subscription: bytes) -> frozenset[str] | None:
    """The topics that a member reads; None: these bytes do not tell."""
    try:
        return frozenset(decode_subscription(subscription).topics)
    except DecodeError:
        return None


def decode_assignment(data: bytes, topics: Topics) -> tuple[Partitions, bytes]:
    """The partitions of an assignment, as far as their topics exist, and what else is in it."""
    if not data:
        return {}, b""
    assignment = ConsumerProtocolAssignment.read(data, 2, read_version(data))[0]
    found: dict[bytes, frozenset[int]] = {}
    for item in assignment.assigned_partitions:
        topic = topics.get(item.topic)
        if topic is not None and item.partitions:
            found[topic.id] = frozenset(item.partitions)
    return found, assignment.user_data or b""


def encode_assignment(partitions: Partitions, topics: Topics, version: int) -> bytes:
    named: list[tuple[str, list[int]]] = []
    for topic_id, indexes in partitions.items():
        topic = topics.by_id(topic_id)
        if topic is not None:
            named.append((topic.name, sorted(indexes)))
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=indexes)
            for name, indexes in sorted(named)
        ]
    )
    return _VERSION.pack(version) + message.encode(version)


def owned_partitions(subscription: ConsumerProtocolSubscription, topics: Topics) -> Partitions:
    """What a member says it has."""
    found: dict[bytes, frozenset[int]] = {}
    for item in subscription.owned_partitions:
        topic = topics.get(item.topic)
        if topic is not None and item.partitions:
            found[topic.id] = frozenset(item.partitions)
    return found

"""The records of `__consumer_offsets`: their types, and makers for each."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from barnabas.coordinator.runtime_codec import rest_of, size_bound, value_at
from barnabas.coordinator.runtime_types import CoordinatorRecord
from barnabas.protocol.messages import group_records as gr

if TYPE_CHECKING:
    from barnabas.coordinator.group.topics import TopicInfo
    from barnabas.protocol.message import Message

Partitions: TypeAlias = "Mapping[bytes, frozenset[int]]"
"""By topic id.  Never changed once made, and without empty sets."""
NO_PARTITIONS: Partitions = {}

OFFSET_COMMIT = 1
GROUP_METADATA = 2
CONSUMER_METADATA = 3
CONSUMER_PARTITION_METADATA = 4
CONSUMER_MEMBER = 5
CONSUMER_TARGET = 6
CONSUMER_TARGET_MEMBER = 7
CONSUMER_CURRENT = 8
CONSUMER_REGEX = 16

TYPES: Mapping[int, tuple[type[Message], type[Message]]] = {
    0: (gr.OffsetCommitKey, gr.OffsetCommitValue),
    OFFSET_COMMIT: (gr.OffsetCommitKey, gr.OffsetCommitValue),
    GROUP_METADATA: (gr.GroupMetadataKey, gr.GroupMetadataValue),
    CONSUMER_METADATA: (gr.ConsumerGroupMetadataKey, gr.ConsumerGroupMetadataValue),
    CONSUMER_PARTITION_METADATA: (
        gr.ConsumerGroupPartitionMetadataKey,
        gr.ConsumerGroupPartitionMetadataValue,
    ),
    CONSUMER_MEMBER: (gr.ConsumerGroupMemberMetadataKey, gr.ConsumerGroupMemberMetadataValue),
    CONSUMER_TARGET: (
        gr.ConsumerGroupTargetAssignmentMetadataKey,
        gr.ConsumerGroupTargetAssignmentMetadataValue,
    ),
    CONSUMER_TARGET_MEMBER: (
        gr.ConsumerGroupTargetAssignmentMemberKey,
        gr.ConsumerGroupTargetAssignmentMemberValue,
    ),
    CONSUMER_CURRENT: (
        gr.ConsumerGroupCurrentMemberAssignmentKey,
        gr.ConsumerGroupCurrentMemberAssignmentValue,
    ),
    CONSUMER_REGEX: (
        gr.ConsumerGroupRegularExpressionKey,
        gr.ConsumerGroupRegularExpressionValue,
    ),
}
"""By version of the key, which is the type of the record."""

_SHORT = struct.Struct(">h")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_OFFSET = struct.Struct(">hqih")

_GROUP_METADATA_VERSION = 3
_OFFSET_VERSION = 3
_OFFSET_VERSION_WITH_EXPIRY = 1


def offset_commit(
    group: str, topic: str, partition: int, value: gr.OffsetCommitValue | None
) -> CoordinatorRecord:
    """A committed offset.  Only the old version of the value can say when it expires."""
    if value is not None and value.expire_timestamp < 0:
        return OffsetKey(group, topic, partition).commit(value)
    return CoordinatorRecord(
        key=gr.OffsetCommitKey(group=group, topic=topic, partition=partition),
        key_version=OFFSET_COMMIT,
        value=value,
        value_version=0 if value is None else _OFFSET_VERSION_WITH_EXPIRY,
    )


class OffsetKey:
    """Whose offset of which partition.

    Commits are most of what is ever written here: the usual one is packed by hand.
    """

    __slots__ = ("_key", "wire")

    def __init__(self, group: str, topic: str, partition: int) -> None:
        self._key = gr.OffsetCommitKey(group=group, topic=topic, partition=partition)
        self.wire = _offset_key(group, topic) + _INT.pack(partition)

    def commit(self, value: gr.OffsetCommitValue) -> CoordinatorRecord:
        """The record of an offset without a time at which it expires."""
        metadata = value.metadata.encode()
        wire = (
            _OFFSET.pack(_OFFSET_VERSION, value.offset, value.leader_epoch, len(metadata))
            + metadata
            + _LONG.pack(value.commit_timestamp)
        )
        return CoordinatorRecord(
            self._key, OFFSET_COMMIT, value, _OFFSET_VERSION, (self.wire, wire)
        )


class OffsetForm:
    """The record of an offset in which only offset, leader epoch and time are open."""

    __slots__ = ("_after", "_before", "_record", "size_bytes")

    def __init__(self, key: OffsetKey, metadata: str) -> None:
        text = metadata.encode()
        value = _OFFSET.pack(_OFFSET_VERSION, 0, 0, len(text)) + text + _LONG.pack(0)
        rest = rest_of((key.wire, value))
        start = value_at(rest, value) + _SHORT.size  # behind the version
        stop = start + _LONG.size + _INT.size
        self._before = rest[:start]
        self._after = rest[stop : -1 - _LONG.size]
        self._record = struct.Struct(f">{len(self._before)}sqi{len(self._after)}sqx")
        self.size_bytes = size_bound((key.wire, value))

    def filled(self, offset: int, leader_epoch: int, now_ms: int) -> bytes:
        """For `BatchBuilder.add_rest`."""
        return self._record.pack(self._before, offset, leader_epoch, self._after, now_ms)


@lru_cache(maxsize=16_384)
def _offset_key(group: str, topic: str) -> bytes:
    names = (group.encode(), topic.encode())
    return _SHORT.pack(OFFSET_COMMIT) + b"".join(_SHORT.pack(len(n)) + n for n in names)


def group_metadata(group: str, value: gr.GroupMetadataValue | None) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=gr.GroupMetadataKey(group=group),
        key_version=GROUP_METADATA,
        value=value,
        value_version=0 if value is None else _GROUP_METADATA_VERSION,
    )


def consumer_epoch(group: str, epoch: int | None) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=gr.ConsumerGroupMetadataKey(group_id=group),
        key_version=CONSUMER_METADATA,
        value=None if epoch is None else gr.ConsumerGroupMetadataValue(epoch=epoch),
    )


def consumer_topics(group: str, topics: Iterable[TopicInfo] | None) -> CoordinatorRecord:
    """What the group knows of its topics."""
    value = None
    if topics is not None:
        value = gr.ConsumerGroupPartitionMetadataValue(
            topics=[
                gr.TopicMetadata(topic_id=t.id, topic_name=t.name, num_partitions=t.partitions)
                for t in sorted(topics)
            ]
        )
    return CoordinatorRecord(
        key=gr.ConsumerGroupPartitionMetadataKey(group_id=group),
        key_version=CONSUMER_PARTITION_METADATA,
        value=value,
    )


def consumer_member(
    group: str, member_id: str, value: gr.ConsumerGroupMemberMetadataValue | None
) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=gr.ConsumerGroupMemberMetadataKey(group_id=group, member_id=member_id),
        key_version=CONSUMER_MEMBER,
        value=value,
    )


def consumer_target_epoch(group: str, epoch: int | None) -> CoordinatorRecord:
    value = None
    if epoch is not None:
        value = gr.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
    return CoordinatorRecord(
        key=gr.ConsumerGroupTargetAssignmentMetadataKey(group_id=group),
        key_version=CONSUMER_TARGET,
        value=value,
    )


def consumer_target(group: str, member_id: str, target: Partitions | None) -> CoordinatorRecord:
    value = None
    if target is not None:
        value = gr.ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                gr.TopicPartition(topic_id=topic, partitions=sorted(target[topic]))
                for topic in sorted(target)
            ]
        )
    return CoordinatorRecord(
        key=gr.ConsumerGroupTargetAssignmentMemberKey(group_id=group, member_id=member_id),
        key_version=CONSUMER_TARGET_MEMBER,
        value=value,
    )


def consumer_current(
    group: str, member_id: str, value: gr.ConsumerGroupCurrentMemberAssignmentValue | None
) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=gr.ConsumerGroupCurrentMemberAssignmentKey(group_id=group, member_id=member_id),
        key_version=CONSUMER_CURRENT,
        value=value,
    )


def consumer_regex(
    group: str, regex: str, value: gr.ConsumerGroupRegularExpressionValue | None
) -> CoordinatorRecord:
    return CoordinatorRecord(
        key=gr.ConsumerGroupRegularExpressionKey(group_id=group, regular_expression=regex),
        key_version=CONSUMER_REGEX,
        value=value,
    )


def topic_partitions(partitions: Partitions) -> list[gr.TopicPartitions]:
    """Partitions as records of members have them."""
    return [
        gr.TopicPartitions(topic_id=topic, partitions=sorted(partitions[topic]))
        for topic in sorted(partitions)
    ]


def partitions_of(items: Iterable[gr.TopicPartitions | gr.TopicPartition]) -> Partitions:
    """The reverse."""
    return {item.topic_id: frozenset(item.partitions) for item in items if item.partitions}

"""Keys and values of `__consumer_offsets`.  The version of a key is its type."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bytes,
    Int8,
    Int32,
    Int64,
    NullableString,
    String,
    Uuid,
    fresh,
    ignorable,
    since,
    tag,
    until,
)


class GroupMetadataKey(Message, versions="2", flexible="none"):
    """A classic group."""

    group: String = ""


class MemberMetadata(Struct):
    member_id: String = ""
    group_instance_id: Annotated[NullableString, since(3), ignorable] = None
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout: Annotated[Int32, since(1), ignorable] = -1
    session_timeout: Int32 = 0
    subscription: Bytes = b""
    assignment: Bytes = b""


class GroupMetadataValue(Message, versions="0-4", flexible="4+"):
    """State of a classic group after a rebalance.

    v3: static members (KIP-345).  v4: flexible.
    """

    protocol_type: String = ""
    generation: Int32 = 0
    protocol: NullableString = ""
    leader: NullableString = ""
    current_state_timestamp: Annotated[Int64, since(2), ignorable] = -1
    members: list[MemberMetadata] = []


class OffsetCommitKey(Message, versions="0-1", flexible="none"):
    """Position of a group in a partition."""

    group: String = ""
    topic: String = ""
    partition: Int32 = 0


class OffsetCommitValue(Message, versions="0-4", flexible="4+"):
    """A stored position.  v3: leader epoch.  v4: flexible; the topic's id, since Kafka 4.1."""

    offset: Int64 = 0
    leader_epoch: Annotated[Int32, since(3), ignorable] = -1
    metadata: String = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Annotated[Int64, since(1), until(1), ignorable] = -1
    topic_id: Annotated[Uuid, since(4), tag(0), ignorable] = NO_UUID


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions="8", flexible="none"):
    """What a member has now."""

    group_id: String = ""
    member_id: String = ""


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []
    assignment_epochs: Annotated[list[Int32] | None, tag(0)] = None
    """Since Kafka 4.3: when each partition was given to the member."""


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    """Partitions that a member has or is giving up."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = []
    partitions_pending_revocation: list[TopicPartitions] = []


class ConsumerGroupMemberMetadataKey(Message, versions="5", flexible="none"):
    """A member of a group."""

    group_id: String = ""
    member_id: String = ""


class ClassicProtocol(Struct):
    name: String = ""
    metadata: Bytes = b""


class ClassicMemberMetadata(Struct):
    session_timeout_ms: Int32 = 0
    supported_protocols: list[ClassicProtocol] = []


class ConsumerGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    """What a member told about itself; for classic members their protocols too."""

    instance_id: NullableString = ""
    rack_id: NullableString = ""
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = []
    subscribed_topic_regex: NullableString = ""
    rebalance_timeout_ms: Int32 = -1
    server_assignor: NullableString = ""
    classic_member_metadata: Annotated[ClassicMemberMetadata | None, tag(0)] = fresh(
        ClassicMemberMetadata
    )


class ConsumerGroupMetadataKey(Message, versions="3", flexible="none"):
    """A group of the newer protocol (KIP-848)."""

    group_id: String = ""


class ConsumerGroupMetadataValue(Message, versions="0", flexible="0+"):
    """Epoch of a group; since Kafka 4.1 also a hash of its topics."""

    epoch: Int32 = 0
    metadata_hash: Annotated[Int64, tag(0)] = 0


class ConsumerGroupPartitionMetadataKey(Message, versions="4", flexible="none"):
    """What a group knows of its topics."""

    group_id: String = ""


class PartitionMetadata(Struct):
    partition: Int32 = 0
    racks: list[String] = []


class TopicMetadata(Struct):
    topic_id: Uuid = NO_UUID
    topic_name: String = ""
    num_partitions: Int32 = 0
    partition_metadata: list[PartitionMetadata] = []


class ConsumerGroupPartitionMetadataValue(Message, versions="0", flexible="0+"):
    """Topics of a group with their partitions and racks."""

    topics: list[TopicMetadata] = []


class ConsumerGroupRegularExpressionKey(Message, versions="16", flexible="none"):
    """A regular expression that members subscribed to."""

    group_id: String = ""
    regular_expression: String = ""


class ConsumerGroupRegularExpressionValue(Message, versions="0", flexible="0+"):
    """Topics that a regular expression matched."""

    topics: list[String] = []
    version: Int64 = 0
    timestamp: Int64 = 0


class ConsumerGroupTargetAssignmentMemberKey(Message, versions="7", flexible="none"):
    """A member's part of the target assignment."""

    group_id: String = ""
    member_id: String = ""


class TopicPartition(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ConsumerGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    """Partitions that a member should get."""

    topic_partitions: list[TopicPartition] = []


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions="6", flexible="none"):
    """The target assignment of a group."""

    group_id: String = ""


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    """Epoch of the target assignment; since Kafka 4.2 also when it was made."""

    assignment_epoch: Int32 = 0
    assignment_timestamp: Annotated[Int64, tag(0), ignorable] = 0

"""x"""

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
    protocol_type: String = ""
    generation: Int32 = 0
    protocol: NullableString = ""
    leader: NullableString = ""
    current_state_timestamp: Annotated[Int64, since(2), ignorable] = -1
    members: list[MemberMetadata] = []


class OffsetCommitKey(Message, versions="0-1", flexible="none"):
    group: String = ""
    topic: String = ""
    partition: Int32 = 0


class OffsetCommitValue(Message, versions="0-4", flexible="4+"):
    offset: Int64 = 0
    leader_epoch: Annotated[Int32, since(3), ignorable] = -1
    metadata: String = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Annotated[Int64, since(1), until(1), ignorable] = -1


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions="8", flexible="none"):
    group_id: String = ""
    member_id: String = ""


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = []
    partitions_pending_revocation: list[TopicPartitions] = []


class ConsumerGroupMemberMetadataKey(Message, versions="5", flexible="none"):
    group_id: String = ""
    member_id: String = ""


class ClassicProtocol(Struct):
    name: String = ""
    metadata: Bytes = b""


class ClassicMemberMetadata(Struct):
    session_timeout_ms: Int32 = 0
    supported_protocols: list[ClassicProtocol] = []


class ConsumerGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
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
    group_id: String = ""


class ConsumerGroupMetadataValue(Message, versions="0", flexible="0+"):
    epoch: Int32 = 0


class ConsumerGroupPartitionMetadataKey(Message, versions="4", flexible="none"):
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
    topics: list[TopicMetadata] = []


class ConsumerGroupRegularExpressionKey(Message, versions="16", flexible="none"):
    group_id: String = ""
    regular_expression: String = ""


class ConsumerGroupRegularExpressionValue(Message, versions="0", flexible="0+"):
    topics: list[String] = []
    version: Int64 = 0
    timestamp: Int64 = 0


class ConsumerGroupTargetAssignmentMemberKey(Message, versions="7", flexible="none"):
    group_id: String = ""
    member_id: String = ""


class TopicPartition(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ConsumerGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    topic_partitions: list[TopicPartition] = []


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions="6", flexible="none"):
    group_id: String = ""


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    assignment_epoch: Int32 = 0

"""Keys and values of share groups in `__consumer_offsets` and `__share_group_state`."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uint16,
    Uuid,
)


class ShareGroupCurrentMemberAssignmentKey(Message, versions="14", flexible="none"):
    """What a member has now."""

    group_id: String = ""
    member_id: String = ""


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ShareGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    """Partitions of a member."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[TopicPartitions] = []


class ShareGroupMemberMetadataKey(Message, versions="10", flexible="none"):
    """A member of a share group."""

    group_id: String = ""
    member_id: String = ""


class ShareGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    """What a member told about itself."""

    rack_id: NullableString = ""
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = []


class ShareGroupMetadataKey(Message, versions="11", flexible="none"):
    """A share group."""

    group_id: String = ""


class ShareGroupMetadataValue(Message, versions="0", flexible="0+"):
    """Epoch of a share group."""

    epoch: Int32 = 0


class ShareGroupPartitionMetadataKey(Message, versions="9", flexible="none"):
    """What a share group knows of its topics."""

    group_id: String = ""


class PartitionMetadata(Struct):
    partition: Int32 = 0
    racks: list[String] = []


class TopicMetadata(Struct):
    topic_id: Uuid = NO_UUID
    topic_name: String = ""
    num_partitions: Int32 = 0
    partition_metadata: list[PartitionMetadata] = []


class ShareGroupPartitionMetadataValue(Message, versions="0", flexible="0+"):
    """Topics of a share group with their partitions and racks."""

    topics: list[TopicMetadata] = []


class ShareGroupStatePartitionMetadataKey(Message, versions="15", flexible="none"):
    """Which share partitions have stored state."""

    group_id: String = ""


class TopicPartitionsInfo(Struct):
    topic_id: Uuid = NO_UUID
    topic_name: String = ""
    partitions: list[Int32] = []


class TopicInfo(Struct):
    topic_id: Uuid = NO_UUID
    topic_name: String = ""


class ShareGroupStatePartitionMetadataValue(Message, versions="0", flexible="0+"):
    """Partitions whose state is being set up, is set up, or is being deleted."""

    initialized_topics: list[TopicPartitionsInfo] = []
    deleting_topics: list[TopicInfo] = []


class ShareGroupTargetAssignmentMemberKey(Message, versions="13", flexible="none"):
    """A member's part of the target assignment."""

    group_id: String = ""
    member_id: String = ""


class TopicPartition(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ShareGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    """Partitions that a member should get."""

    topic_partitions: list[TopicPartition] = []


class ShareGroupTargetAssignmentMetadataKey(Message, versions="12", flexible="none"):
    """The target assignment of a share group."""

    group_id: String = ""


class ShareGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    """Epoch of the target assignment."""

    assignment_epoch: Int32 = 0


class ShareSnapshotKey(Message, versions="0", flexible="none"):
    """Full state of a share partition."""

    group_id: String = ""
    topic_id: Uuid = NO_UUID
    partition: Int32 = 0


class StateBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


class ShareSnapshotValue(Message, versions="0", flexible="0+"):
    """Start offset and the batches in flight."""

    snapshot_epoch: Uint16 = 0
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    state_batches: list[StateBatch] = []


class ShareUpdateKey(Message, versions="1", flexible="none"):
    """A change of the state of a share partition."""

    group_id: String = ""
    topic_id: Uuid = NO_UUID
    partition: Int32 = 0


class ShareUpdateValue(Message, versions="0", flexible="0+"):
    """What changed since the last snapshot."""

    snapshot_epoch: Uint16 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    state_batches: list[StateBatch] = []

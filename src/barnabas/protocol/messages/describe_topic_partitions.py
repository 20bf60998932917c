"""DescribeTopicPartitions, API 75: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Bool, Int16, Int32, NullableString, String, Uuid


class TopicRequest(Struct):
    name: String = ""


class Cursor(Struct):
    topic_name: String = ""
    partition_index: Int32 = 0


class DescribeTopicPartitionsRequest(Message, api_key=75, versions="0", flexible="0+"):
    """Topics in pages: partitions with their eligible leader replicas (KIP-966)."""

    topics: list[TopicRequest] = []
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: list[Int32] = []
    isr_nodes: list[Int32] = []
    eligible_leader_replicas: list[Int32] | None = None
    last_known_elr: list[Int32] | None = None
    offline_replicas: list[Int32] = []


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: Int16 = 0
    name: NullableString = ""
    topic_id: Uuid = NO_UUID
    is_internal: Bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: Int32 = -2147483648


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None

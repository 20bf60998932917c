"""AlterPartitionReassignments, API 45: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, NullableString, String


class ReassignablePartition(Struct):
    partition_index: Int32 = 0
    replicas: list[Int32] | None = None


class ReassignableTopic(Struct):
    name: String = ""
    partitions: list[ReassignablePartition] = []


class AlterPartitionReassignmentsRequest(Message, api_key=45, versions="0", flexible="0+"):
    """Starts or cancels moves of partitions to other replicas (KIP-455)."""

    timeout_ms: Int32 = 60000
    topics: list[ReassignableTopic] = []


class ReassignablePartitionResponse(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""


class ReassignableTopicResponse(Struct):
    name: String = ""
    partitions: list[ReassignablePartitionResponse] = []


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    responses: list[ReassignableTopicResponse] = []

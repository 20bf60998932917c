"""ListPartitionReassignments, API 46: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, NullableString, String


class ListPartitionReassignmentsTopics(Struct):
    name: String = ""
    partition_indexes: list[Int32] = []


class ListPartitionReassignmentsRequest(Message, api_key=46, versions="0", flexible="0+"):
    """Moves of partitions that are under way (KIP-455)."""

    timeout_ms: Int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


class OngoingPartitionReassignment(Struct):
    partition_index: Int32 = 0
    replicas: list[Int32] = []
    adding_replicas: list[Int32] = []
    removing_replicas: list[Int32] = []


class OngoingTopicReassignment(Struct):
    name: String = ""
    partitions: list[OngoingPartitionReassignment] = []


class ListPartitionReassignmentsResponse(Message, api_key=46, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    topics: list[OngoingTopicReassignment] = []

"""CreatePartitions, API 37: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int16, Int32, NullableString, String


class CreatePartitionsAssignment(Struct):
    broker_ids: list[Int32] = []


class CreatePartitionsTopic(Struct):
    name: String = ""
    count: Int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = []


class CreatePartitionsRequest(Message, api_key=37, versions="0-3", flexible="2+"):
    """Adds partitions to topics, on given brokers if wished (KIP-195).  v2: flexible."""

    topics: list[CreatePartitionsTopic] = []
    timeout_ms: Int32 = 0
    validate_only: Bool = False


class CreatePartitionsTopicResult(Struct):
    name: String = ""
    error_code: Int16 = 0
    error_message: NullableString = None


class CreatePartitionsResponse(Message, api_key=37, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = 0
    results: list[CreatePartitionsTopicResult] = []

"""DeleteShareGroupState, API 86: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, NullableString, String, Uuid


class PartitionData(Struct):
    partition: Int32 = 0


class DeleteStateData(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class DeleteShareGroupStateRequest(Message, api_key=86, versions="0", flexible="0+"):
    """Forgets the stored state of share partitions (KIP-932)."""

    group_id: String = ""
    topics: list[DeleteStateData] = []


class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None


class DeleteStateResult(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionResult] = []


class DeleteShareGroupStateResponse(Message, api_key=86, versions="0", flexible="0+"):
    results: list[DeleteStateResult] = []

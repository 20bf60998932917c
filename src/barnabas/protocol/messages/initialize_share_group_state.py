"""InitializeShareGroupState, API 83: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, Int64, NullableString, String, Uuid


class PartitionData(Struct):
    partition: Int32 = 0
    state_epoch: Int32 = 0
    start_offset: Int64 = 0


class InitializeStateData(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class InitializeShareGroupStateRequest(Message, api_key=83, versions="0", flexible="0+"):
    """Creates the stored state of share partitions (KIP-932)."""

    group_id: String = ""
    topics: list[InitializeStateData] = []


class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None


class InitializeStateResult(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionResult] = []


class InitializeShareGroupStateResponse(Message, api_key=83, versions="0", flexible="0+"):
    results: list[InitializeStateResult] = []

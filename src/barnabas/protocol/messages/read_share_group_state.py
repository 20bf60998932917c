"""ReadShareGroupState, API 84: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int8, Int16, Int32, Int64, NullableString, String, Uuid


class PartitionData(Struct):
    partition: Int32 = 0
    leader_epoch: Int32 = 0


class ReadStateData(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class ReadShareGroupStateRequest(Message, api_key=84, versions="0", flexible="0+"):
    """Reads the stored state of share partitions (KIP-932)."""

    group_id: String = ""
    topics: list[ReadStateData] = []


class StateBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    state_epoch: Int32 = 0
    start_offset: Int64 = 0
    state_batches: list[StateBatch] = []


class ReadStateResult(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionResult] = []


class ReadShareGroupStateResponse(Message, api_key=84, versions="0", flexible="0+"):
    results: list[ReadStateResult] = []

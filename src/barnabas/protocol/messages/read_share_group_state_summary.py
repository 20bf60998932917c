"""ReadShareGroupStateSummary, API 87: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, Int64, NullableString, String, Uuid


class PartitionData(Struct):
    partition: Int32 = 0
    leader_epoch: Int32 = 0


class ReadStateSummaryData(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class ReadShareGroupStateSummaryRequest(Message, api_key=87, versions="0", flexible="0+"):
    """Reads only the start offsets of share partitions (KIP-932)."""

    group_id: String = ""
    topics: list[ReadStateSummaryData] = []


class PartitionResult(Struct):
    partition: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    state_epoch: Int32 = 0
    start_offset: Int64 = 0


class ReadStateSummaryResult(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionResult] = []


class ReadShareGroupStateSummaryResponse(Message, api_key=87, versions="0", flexible="0+"):
    results: list[ReadStateSummaryResult] = []

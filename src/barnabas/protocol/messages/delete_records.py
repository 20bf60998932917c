"""DeleteRecords, API 21: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, Int64, String


class DeleteRecordsPartition(Struct):
    partition_index: Int32 = 0
    offset: Int64 = 0


class DeleteRecordsTopic(Struct):
    name: String = ""
    partitions: list[DeleteRecordsPartition] = []


class DeleteRecordsRequest(Message, api_key=21, versions="0-2", flexible="2+"):
    """Moves the start of partitions forward: what is before it is gone (KIP-107).

    v2: flexible.
    """

    topics: list[DeleteRecordsTopic] = []
    timeout_ms: Int32 = 0


class DeleteRecordsPartitionResult(Struct):
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


class DeleteRecordsTopicResult(Struct):
    name: String = ""
    partitions: list[DeleteRecordsPartitionResult] = []


class DeleteRecordsResponse(Message, api_key=21, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = 0
    topics: list[DeleteRecordsTopicResult] = []

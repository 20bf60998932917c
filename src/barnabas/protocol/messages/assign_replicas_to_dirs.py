"""AssignReplicasToDirs, API 73: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, Int64, Uuid


class RequestPartitionData(Struct):
    partition_index: Int32 = 0


class RequestTopicData(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[RequestPartitionData] = []


class RequestDirectoryData(Struct):
    id: Uuid = NO_UUID
    topics: list[RequestTopicData] = []


class AssignReplicasToDirsRequest(Message, api_key=73, versions="0", flexible="0+"):
    """A broker tells in which log directories its replicas are (KIP-858)."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    directories: list[RequestDirectoryData] = []


class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class ResponseTopicData(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[ResponsePartitionData] = []


class ResponseDirectoryData(Struct):
    id: Uuid = NO_UUID
    topics: list[ResponseTopicData] = []


class AssignReplicasToDirsResponse(Message, api_key=73, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    directories: list[ResponseDirectoryData] = []

"""DescribeQuorum, API 55: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uint16,
    Uuid,
    ignorable,
    since,
)


class RequestPartitionData(Struct):
    partition_index: Int32 = 0


class RequestTopicData(Struct):
    topic_name: String = ""
    partitions: list[RequestPartitionData] = []


class DescribeQuorumRequest(Message, api_key=55, versions="0-2", flexible="0+"):
    """How far the replicas of the metadata log are (KIP-595).

    v1: times of the last fetches (KIP-836).  v2: directory ids and endpoints (KIP-853).
    """

    topics: list[RequestTopicData] = []


class ReplicaState(Struct):
    replica_id: Int32 = 0
    replica_directory_id: Annotated[Uuid, since(2)] = NO_UUID
    log_end_offset: Int64 = 0
    last_fetch_timestamp: Annotated[Int64, since(1), ignorable] = -1
    last_caught_up_timestamp: Annotated[Int64, since(1), ignorable] = -1


class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: Annotated[NullableString, since(2), ignorable] = ""
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    high_watermark: Int64 = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []


class ResponseTopicData(Struct):
    topic_name: String = ""
    partitions: list[ResponsePartitionData] = []


class Listener(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0


class Node(Struct):
    node_id: Int32 = 0
    listeners: list[Listener] = []


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    error_code: Int16 = 0
    error_message: Annotated[NullableString, since(2), ignorable] = ""
    topics: list[ResponseTopicData] = []
    nodes: Annotated[list[Node], since(2)] = []

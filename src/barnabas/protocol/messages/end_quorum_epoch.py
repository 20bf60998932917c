"""EndQuorumEpoch, API 54: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int16,
    Int32,
    NullableString,
    String,
    Uint16,
    Uuid,
    ignorable,
    since,
    tag,
    until,
)


class ReplicaInfo(Struct):
    candidate_id: Int32 = 0
    candidate_directory_id: Uuid = NO_UUID


class RequestPartitionData(Struct):
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    preferred_successors: Annotated[list[Int32], until(0), ignorable] = []
    preferred_candidates: Annotated[list[ReplicaInfo], since(1), ignorable] = []


class RequestTopicData(Struct):
    topic_name: String = ""
    partitions: list[RequestPartitionData] = []


class LeaderEndpoint(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0


class EndQuorumEpochRequest(Message, api_key=54, versions="0-1", flexible="1+"):
    """A leader of the metadata log resigns (KIP-595).  v1: flexible, directory ids (KIP-853)."""

    cluster_id: NullableString = None
    topics: list[RequestTopicData] = []
    leader_endpoints: Annotated[list[LeaderEndpoint], since(1), ignorable] = []


class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class ResponseTopicData(Struct):
    topic_name: String = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Uint16 = 0


class EndQuorumEpochResponse(Message, api_key=54, versions="0-1", flexible="1+"):
    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: Annotated[list[NodeEndpoint], since(1), tag(0)] = []

"""BeginQuorumEpoch, API 53: request and response."""

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
)


class RequestPartitionData(Struct):
    partition_index: Int32 = 0
    voter_directory_id: Annotated[Uuid, since(1), ignorable] = NO_UUID
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class RequestTopicData(Struct):
    topic_name: String = ""
    partitions: list[RequestPartitionData] = []


class LeaderEndpoint(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0


class BeginQuorumEpochRequest(Message, api_key=53, versions="0-1", flexible="1+"):
    """A new leader of the metadata log makes itself known (KIP-595).

    v1: flexible, directory ids (KIP-853).
    """

    cluster_id: NullableString = None
    voter_id: Annotated[Int32, since(1), ignorable] = -1
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


class BeginQuorumEpochResponse(Message, api_key=53, versions="0-1", flexible="1+"):
    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: Annotated[list[NodeEndpoint], since(1), tag(0)] = []

"""Vote, API 52: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bool,
    Int16,
    Int32,
    Int64,
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
    replica_epoch: Int32 = 0
    replica_id: Int32 = 0
    replica_directory_id: Annotated[Uuid, since(1), ignorable] = NO_UUID
    voter_directory_id: Annotated[Uuid, since(1), ignorable] = NO_UUID
    last_offset_epoch: Int32 = 0
    last_offset: Int64 = 0
    pre_vote: Annotated[Bool, since(2)] = False


class RequestTopicData(Struct):
    topic_name: String = ""
    partitions: list[RequestPartitionData] = []


class VoteRequest(Message, api_key=52, versions="0-2", flexible="0+"):
    """A replica of the metadata log asks for a vote (KIP-595).

    v1: directory ids (KIP-853).  v2: asking first whether a vote would succeed (KIP-996).
    """

    cluster_id: NullableString = None
    voter_id: Annotated[Int32, since(1), ignorable] = -1
    topics: list[RequestTopicData] = []


class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    vote_granted: Bool = False


class ResponseTopicData(Struct):
    topic_name: String = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Uint16 = 0


class VoteResponse(Message, api_key=52, versions="0-2", flexible="0+"):
    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: Annotated[list[NodeEndpoint], since(1), tag(0)] = []

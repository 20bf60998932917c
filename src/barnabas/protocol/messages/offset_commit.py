"""OffsetCommit, API 8: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    ignorable,
    since,
    until,
)


class OffsetCommitRequestPartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(6), ignorable] = -1
    commit_timestamp: Annotated[Int64, since(1), until(1)] = -1
    committed_metadata: NullableString = ""


class OffsetCommitRequestTopic(Struct):
    name: String = ""
    partitions: list[OffsetCommitRequestPartition] = []


class OffsetCommitRequest(Message, api_key=8, versions="0-9", flexible="8+"):
    """A group member stores the positions up to which it has read.

    v1: membership.  v2: retention time, until v4.  v6: leader epoch (KIP-320).  v7: static
    members (KIP-345).  v8: flexible.  v9: members of the newer group protocol, with a member
    epoch (KIP-848).
    """

    group_id: String = ""
    generation_id_or_member_epoch: Annotated[Int32, since(1), ignorable] = -1
    member_id: Annotated[String, since(1), ignorable] = ""
    group_instance_id: Annotated[NullableString, since(7)] = None
    retention_time_ms: Annotated[Int64, since(2), until(4), ignorable] = -1
    topics: list[OffsetCommitRequestTopic] = []


class OffsetCommitResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetCommitResponseTopic(Struct):
    name: String = ""
    partitions: list[OffsetCommitResponsePartition] = []


class OffsetCommitResponse(Message, api_key=8, versions="0-9", flexible="8+"):
    throttle_time_ms: Annotated[Int32, since(3), ignorable] = 0
    topics: list[OffsetCommitResponseTopic] = []

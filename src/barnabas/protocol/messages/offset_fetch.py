"""OffsetFetch, API 9: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Bool,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    ignorable,
    nullable_since,
    since,
    until,
)


class OffsetFetchRequestTopic(Struct):
    name: String = ""
    partition_indexes: list[Int32] = []


class OffsetFetchRequestTopics(Struct):
    name: String = ""
    partition_indexes: list[Int32] = []


class OffsetFetchRequestGroup(Struct):
    group_id: String = ""
    member_id: Annotated[NullableString, since(9), ignorable] = None
    member_epoch: Annotated[Int32, since(9), ignorable] = -1
    topics: list[OffsetFetchRequestTopics] | None = []


class OffsetFetchRequest(Message, api_key=9, versions="0-9", flexible="6+"):
    """Reads the stored positions of a group.

    v2: null topics mean all; a code for the whole answer.  v5: leader epoch (KIP-320).  v6:
    flexible.  v7: wait for open transactions, `require_stable` (KIP-447).  v8: several groups
    in one request (KIP-709).  v9: member id and epoch of the newer group protocol (KIP-848).
    """

    group_id: Annotated[String, until(7)] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, until(7), nullable_since(2)] = []
    groups: Annotated[list[OffsetFetchRequestGroup], since(8)] = []
    require_stable: Annotated[Bool, since(7)] = False


class OffsetFetchResponsePartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(5), ignorable] = -1
    metadata: NullableString = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopic(Struct):
    name: String = ""
    partitions: list[OffsetFetchResponsePartition] = []


class OffsetFetchResponsePartitions(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: NullableString = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopics(Struct):
    name: String = ""
    partitions: list[OffsetFetchResponsePartitions] = []


class OffsetFetchResponseGroup(Struct):
    group_id: String = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: Int16 = 0


class OffsetFetchResponse(Message, api_key=9, versions="0-9", flexible="6+"):
    throttle_time_ms: Annotated[Int32, since(3), ignorable] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], until(7)] = []
    error_code: Annotated[Int16, since(2), until(7), ignorable] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], since(8)] = []

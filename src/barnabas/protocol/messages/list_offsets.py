"""ListOffsets, API 2: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, Int64, String, ignorable, since, until


class ListOffsetsPartition(Struct):
    partition_index: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(4), ignorable] = -1
    timestamp: Int64 = 0
    max_num_offsets: Annotated[Int32, until(0)] = 1


class ListOffsetsTopic(Struct):
    name: String = ""
    partitions: list[ListOffsetsPartition] = []


class ListOffsetsRequest(Message, api_key=2, versions="0-10", flexible="6+"):
    """The offset that belongs to a time, or one of the special positions (negative timestamps).

    v1: one offset with its timestamp instead of a list.  v2: isolation level.  v4: leader
    epochs (KIP-320).  v6: flexible.  v7: the record with the highest timestamp (KIP-734).  v8:
    start of the local log (KIP-405).  v9: end of the tiered log (KIP-1005).  v10: a timeout for
    slow remote look-ups (KIP-1075).
    """

    replica_id: Int32 = 0
    isolation_level: Annotated[Int8, since(2)] = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: Annotated[Int32, since(10), ignorable] = 0


class ListOffsetsPartitionResponse(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    old_style_offsets: Annotated[list[Int64], until(0)] = []
    timestamp: Annotated[Int64, since(1)] = -1
    offset: Annotated[Int64, since(1)] = -1
    leader_epoch: Annotated[Int32, since(4)] = -1


class ListOffsetsTopicResponse(Struct):
    name: String = ""
    partitions: list[ListOffsetsPartitionResponse] = []


class ListOffsetsResponse(Message, api_key=2, versions="0-10", flexible="6+"):
    throttle_time_ms: Annotated[Int32, since(2), ignorable] = 0
    topics: list[ListOffsetsTopicResponse] = []

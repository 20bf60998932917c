"""OffsetForLeaderEpoch, API 23: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, Int64, String, ignorable, since


class OffsetForLeaderPartition(Struct):
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(2), ignorable] = -1
    leader_epoch: Int32 = 0


class OffsetForLeaderTopic(Struct):
    topic: String = ""
    partitions: list[OffsetForLeaderPartition] = []


class OffsetForLeaderEpochRequest(Message, api_key=23, versions="0-4", flexible="4+"):
    """Where a leader epoch ended: how a follower or a consumer finds out that logs diverged.

    v2: current leader epoch (KIP-320).  v3: who asks.  v4: flexible.
    """

    replica_id: Annotated[Int32, since(3), ignorable] = -2
    topics: list[OffsetForLeaderTopic] = []


class EpochEndOffset(Struct):
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Annotated[Int32, since(1), ignorable] = -1
    end_offset: Int64 = -1


class OffsetForLeaderTopicResult(Struct):
    topic: String = ""
    partitions: list[EpochEndOffset] = []


class OffsetForLeaderEpochResponse(Message, api_key=23, versions="0-4", flexible="4+"):
    throttle_time_ms: Annotated[Int32, since(2), ignorable] = 0
    topics: list[OffsetForLeaderTopicResult] = []

"""TxnOffsetCommit, API 28: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, Int64, NullableString, String, ignorable, since


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(2), ignorable] = -1
    committed_metadata: NullableString = ""


class TxnOffsetCommitRequestTopic(Struct):
    name: String = ""
    partitions: list[TxnOffsetCommitRequestPartition] = []


class TxnOffsetCommitRequest(Message, api_key=28, versions="0-5", flexible="3+"):
    """Commits positions of a group as part of a transaction.

    v2: leader epoch.  v3: flexible; membership, so that zombies are fenced (KIP-447).  v5: adds
    the group to the transaction by itself (KIP-890).
    """

    transactional_id: String = ""
    group_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    generation_id: Annotated[Int32, since(3)] = -1
    member_id: Annotated[String, since(3)] = ""
    group_instance_id: Annotated[NullableString, since(3)] = None
    topics: list[TxnOffsetCommitRequestTopic] = []


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class TxnOffsetCommitResponseTopic(Struct):
    name: String = ""
    partitions: list[TxnOffsetCommitResponsePartition] = []


class TxnOffsetCommitResponse(Message, api_key=28, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = []

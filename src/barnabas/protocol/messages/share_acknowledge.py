"""ShareAcknowledge, API 79: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uuid,
    fresh,
)


class AcknowledgementBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = []


class AcknowledgePartition(Struct):
    partition_index: Int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class AcknowledgeTopic(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[AcknowledgePartition] = []


class ShareAcknowledgeRequest(Message, api_key=79, versions="0", flexible="0+"):
    """A member of a share group acknowledges, releases or rejects records (KIP-932)."""

    group_id: NullableString = None
    member_id: NullableString = ""
    share_session_epoch: Int32 = 0
    topics: list[AcknowledgeTopic] = []


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    current_leader: LeaderIdAndEpoch = fresh(LeaderIdAndEpoch)


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


class ShareAcknowledgeResponse(Message, api_key=79, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    responses: list[ShareAcknowledgeTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []

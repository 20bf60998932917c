"""ShareFetch, API 78: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableRecordsOut,
    NullableString,
    String,
    Uuid,
    fresh,
)


class AcknowledgementBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = []


class FetchPartition(Struct):
    partition_index: Int32 = 0
    partition_max_bytes: Int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class FetchTopic(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ShareFetchRequest(Message, api_key=78, versions="0", flexible="0+"):
    """A member of a share group acquires records, and acknowledges earlier ones (KIP-932)."""

    group_id: NullableString = None
    member_id: NullableString = ""
    share_session_epoch: Int32 = 0
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = 0x7FFFFFFF
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class AcquiredRecords(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_count: Int16 = 0


class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    acknowledge_error_code: Int16 = 0
    acknowledge_error_message: NullableString = None
    current_leader: LeaderIdAndEpoch = fresh(LeaderIdAndEpoch)
    records: NullableRecordsOut = None
    acquired_records: list[AcquiredRecords] = []


class ShareFetchableTopicResponse(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


class ShareFetchResponse(Message, api_key=78, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    responses: list[ShareFetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []

"""Fetch, API 1: request and response."""

from typing import Annotated

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
    ignorable,
    since,
    tag,
    until,
)


class ReplicaState(Struct):
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


class FetchPartition(Struct):
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(9), ignorable] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, since(12)] = -1
    log_start_offset: Annotated[Int64, since(5), ignorable] = -1
    partition_max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, since(17), tag(0), ignorable] = NO_UUID
    high_watermark: Annotated[Int64, since(18), tag(1), ignorable] = 0x7FFFFFFFFFFFFFFF


class FetchTopic(Struct):
    topic: Annotated[String, until(12), ignorable] = ""
    topic_id: Annotated[Uuid, since(13), ignorable] = NO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(Struct):
    topic: Annotated[String, until(12), ignorable] = ""
    topic_id: Annotated[Uuid, since(13), ignorable] = NO_UUID
    partitions: list[Int32] = []


class FetchRequest(Message, api_key=1, versions="0-18", flexible="12+"):
    """A consumer or a follower asks for batches from an offset on.

    v4: isolation level and aborted transactions (KIP-98).  v5: log start offset (KIP-107).  v7:
    sessions that name only what changed (KIP-227).  v9: leader epoch check (KIP-320).  v10:
    zstd (KIP-110).  v11: rack, for reading from a close replica (KIP-392).  v12: flexible;
    divergence is found with the last fetched epoch (KIP-595).  v13: topic ids instead of names
    (KIP-516).  v15: replica state instead of the bare id (KIP-903).  v16: endpoints of new
    leaders in the answer (KIP-951).  v17: directory of the replica (KIP-853).  v18, of Kafka
    4.1: what a controller knows of the high watermark (KIP-1166); nobody here needs to look.
    """

    cluster_id: Annotated[NullableString, since(12), tag(0), ignorable] = None
    replica_id: Annotated[Int32, until(14)] = -1
    replica_state: Annotated[ReplicaState, since(15), tag(1)] = fresh(ReplicaState)
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Annotated[Int32, since(3), ignorable] = 0x7FFFFFFF
    isolation_level: Annotated[Int8, since(4), ignorable] = 0
    session_id: Annotated[Int32, since(7), ignorable] = 0
    session_epoch: Annotated[Int32, since(7), ignorable] = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], since(7)] = []
    rack_id: Annotated[String, since(11), ignorable] = ""


class EpochEndOffset(Struct):
    epoch: Int32 = -1
    end_offset: Int64 = -1


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class SnapshotId(Struct):
    end_offset: Int64 = -1
    epoch: Int32 = -1


class AbortedTransaction(Struct):
    producer_id: Int64 = 0
    first_offset: Int64 = 0


class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Annotated[Int64, since(4), ignorable] = -1
    log_start_offset: Annotated[Int64, since(5), ignorable] = -1
    diverging_epoch: Annotated[EpochEndOffset, since(12), tag(0)] = fresh(EpochEndOffset)
    current_leader: Annotated[LeaderIdAndEpoch, since(12), tag(1)] = fresh(LeaderIdAndEpoch)
    snapshot_id: Annotated[SnapshotId, since(12), tag(2)] = fresh(SnapshotId)
    aborted_transactions: Annotated[list[AbortedTransaction] | None, since(4), ignorable] = []
    preferred_read_replica: Annotated[Int32, since(11)] = -1
    records: NullableRecordsOut = None


class FetchableTopicResponse(Struct):
    topic: Annotated[String, until(12), ignorable] = ""
    topic_id: Annotated[Uuid, since(13), ignorable] = NO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


class FetchResponse(Message, api_key=1, versions="0-18", flexible="12+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    error_code: Annotated[Int16, since(7), ignorable] = 0
    session_id: Annotated[Int32, since(7)] = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: Annotated[list[NodeEndpoint], since(16), tag(0)] = []

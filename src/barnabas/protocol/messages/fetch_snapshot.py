"""FetchSnapshot, API 59: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int16,
    Int32,
    Int64,
    NullableString,
    RecordsOut,
    String,
    Uint16,
    Uuid,
    fresh,
    ignorable,
    since,
    tag,
)


class SnapshotId(Struct):
    end_offset: Int64 = 0
    epoch: Int32 = 0


class RequestPartitionSnapshot(Struct):
    partition: Int32 = 0
    current_leader_epoch: Int32 = 0
    snapshot_id: SnapshotId = fresh(SnapshotId)
    position: Int64 = 0
    replica_directory_id: Annotated[Uuid, since(1), tag(0), ignorable] = NO_UUID


class RequestTopicSnapshot(Struct):
    name: String = ""
    partitions: list[RequestPartitionSnapshot] = []


class FetchSnapshotRequest(Message, api_key=59, versions="0-1", flexible="0+"):
    """Pieces of a snapshot of the metadata log (KIP-630).  v1: directory ids (KIP-853)."""

    cluster_id: Annotated[NullableString, tag(0)] = None
    replica_id: Int32 = -1
    max_bytes: Int32 = 0x7FFFFFFF
    topics: list[RequestTopicSnapshot] = []


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class ResponsePartitionSnapshot(Struct):
    index: Int32 = 0
    error_code: Int16 = 0
    snapshot_id: SnapshotId = fresh(SnapshotId)
    current_leader: Annotated[LeaderIdAndEpoch, tag(0)] = fresh(LeaderIdAndEpoch)
    size: Int64 = 0
    position: Int64 = 0
    unaligned_records: RecordsOut = b""


class ResponseTopicSnapshot(Struct):
    name: String = ""
    partitions: list[ResponsePartitionSnapshot] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Uint16 = 0


class FetchSnapshotResponse(Message, api_key=59, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[ResponseTopicSnapshot] = []
    node_endpoints: Annotated[list[NodeEndpoint], since(1), tag(0)] = []

"""Produce, API 0: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Int16,
    Int32,
    Int64,
    NullableRecords,
    NullableString,
    String,
    fresh,
    ignorable,
    since,
    tag,
)


class PartitionProduceData(Struct):
    index: Int32 = 0
    records: NullableRecords = None


class TopicProduceData(Struct):
    name: String = ""
    partition_data: list[PartitionProduceData] = []


class ProduceRequest(Message, api_key=0, versions="0-12", flexible="9+"):
    """A producer hands record batches to the leaders of partitions.

    v3: batches of format 2, transactional id (KIP-98).  v5: log start offset in the answer.
    v7: zstd (KIP-110).  v8: errors per record in the answer (KIP-467).  v9: flexible.  v10: the
    answer may name the new leader (KIP-951).  v11: TRANSACTION_ABORTABLE (KIP-890).  v12: a
    transactional batch adds its partition to the transaction by itself (KIP-890).
    """

    transactional_id: Annotated[NullableString, since(3)] = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: list[TopicProduceData] = []


class BatchIndexAndErrorMessage(Struct):
    batch_index: Int32 = 0
    batch_index_error_message: NullableString = None


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class PartitionProduceResponse(Struct):
    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Annotated[Int64, since(2), ignorable] = -1
    log_start_offset: Annotated[Int64, since(5), ignorable] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], since(8), ignorable] = []
    error_message: Annotated[NullableString, since(8), ignorable] = None
    current_leader: Annotated[LeaderIdAndEpoch, since(10), tag(0)] = fresh(LeaderIdAndEpoch)


class TopicProduceResponse(Struct):
    name: String = ""
    partition_responses: list[PartitionProduceResponse] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None


class ProduceResponse(Message, api_key=0, versions="0-12", flexible="9+"):
    responses: list[TopicProduceResponse] = []
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    node_endpoints: Annotated[list[NodeEndpoint], since(10), tag(0)] = []

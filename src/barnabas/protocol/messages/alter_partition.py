"""AlterPartition, API 56: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    Uuid,
    ignorable,
    since,
    until,
)


class BrokerState(Struct):
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1


class RequestPartitionData(Struct):
    partition_index: Int32 = 0
    leader_epoch: Int32 = 0
    new_isr: Annotated[list[Int32], until(2)] = []
    new_isr_with_epochs: Annotated[list[BrokerState], since(3)] = []
    leader_recovery_state: Annotated[Int8, since(1)] = 0
    partition_epoch: Int32 = 0


class RequestTopicData(Struct):
    topic_name: Annotated[String, until(1), ignorable] = ""
    topic_id: Annotated[Uuid, since(2), ignorable] = NO_UUID
    partitions: list[RequestPartitionData] = []


class AlterPartitionRequest(Message, api_key=56, versions="0-3", flexible="0+"):
    """A leader asks the controller to change the in-sync replicas (KIP-497).

    v1: recovery state (KIP-704).  v2: topic ids.  v3: broker epochs of the replicas (KIP-903).
    """

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    topics: list[RequestTopicData] = []


class ResponsePartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    isr: list[Int32] = []
    leader_recovery_state: Annotated[Int8, since(1), ignorable] = 0
    partition_epoch: Int32 = 0


class ResponseTopicData(Struct):
    topic_name: Annotated[String, until(1), ignorable] = ""
    topic_id: Annotated[Uuid, since(2), ignorable] = NO_UUID
    partitions: list[ResponsePartitionData] = []


class AlterPartitionResponse(Message, api_key=56, versions="0-3", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[ResponseTopicData] = []

"""What a follower asks its leader beside fetches, and by which limits it fetches.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.messages.fetch import FetchRequest, ReplicaState
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.replication.fetcher import FetchLimits

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.replication.partition import Partition

NO_SESSION, FINAL_EPOCH = 0, -1


def offset_in(response: Any) -> int:
    """Of the one partition that was asked for; `ApiError` if there is none."""
    if response is None:
        raise ApiError("its leader cannot be asked")
    answer = response.topics[0].partitions[0]
    if answer.error_code:
        raise ApiError(ErrorCode(answer.error_code).name)
    offset: int = answer.offset
    return offset


def list_offsets(node_id: int, partition: Partition, timestamp: int) -> ListOffsetsRequest:
    wanted = ListOffsetsPartition(
        partition_index=partition.index,
        current_leader_epoch=partition.leader_epoch,
        timestamp=timestamp,
    )
    return ListOffsetsRequest(
        replica_id=node_id, topics=[ListOffsetsTopic(name=partition.topic, partitions=[wanted])]
    )


def nudge(broker: Broker) -> FetchRequest:
    """A fetch for nothing, which makes the leader answer the one that it holds."""
    return FetchRequest(
        replica_state=ReplicaState(replica_id=broker.node_id, replica_epoch=broker.epoch),
        session_id=NO_SESSION,
        session_epoch=FINAL_EPOCH,
    )


def limits_of(broker: Broker) -> FetchLimits:
    config = broker.config
    return FetchLimits(
        max_wait_ms=config.int("replica.fetch.wait.max.ms"),
        min_bytes=config.int("replica.fetch.min.bytes"),
        max_bytes=config.int("replica.fetch.response.max.bytes"),
        partition_bytes=config.int("replica.fetch.max.bytes"),
        backoff_s=config.int("replica.fetch.backoff.ms") / 1000,
    )

"""ListOffsets: the offset of a position in time, or of one of the ends of a partition.

Negative timestamps are questions of their own, each known since some version.  What a client may
not read yet (above the high watermark, or the last stable offset for a transactional reader) is not
found; followers and debuggers are told the log end.  A new leader that does not know yet what was
acknowledged before it says so: its high watermark may still be behind.

v1: one offset with its timestamp.  v2: isolation level.  v4: leader epochs (KIP-320).  v7: max
timestamp (KIP-734).  v8: earliest local, v9: last tiered (KIP-405).  v10: timeout for remote reads.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    InvalidRequest,
    LeaderNotAvailable,
    OffsetNotAvailable,
    UnsupportedVersion,
)
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.shared import failure
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.replication.partition import Partition
    from barnabas.storage.log import Log

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
KNOWN_SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
READ_COMMITTED = 1
CONSUMER, DEBUGGER = -1, -2
"""Replica ids of those that are none.  A debugger may ask any replica, not only the leader."""
EPOCHS_SINCE = 4
NOT_AVAILABLE_SINCE = 5

Found = tuple[int, int, int]
"""Offset, timestamp, leader epoch."""
NOTHING: Found = (-1, -1, -1)


@handles(ApiKey.LIST_OFFSETS, versions=(1, 10))
def list_offsets(
    broker: Broker, ctx: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    asked = Counter(
        (topic.name, wanted.partition_index)
        for topic in request.topics
        for wanted in topic.partitions
    )
    answered: set[tuple[str, int]] = set()
    response = ListOffsetsResponse()
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            key = (topic.name, wanted.partition_index)
            if key in answered:
                continue
            answered.add(key)
            answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
            answers.append(answer)
            try:
                if asked[key] > 1:
                    raise InvalidRequest(f"{topic.name}-{wanted.partition_index} is asked twice")
                found = _look_up(broker, ctx.api_version, request, topic.name, wanted)
                answer.offset, answer.timestamp, epoch = found
                if ctx.api_version >= EPOCHS_SINCE:
                    answer.leader_epoch = epoch
            except Exception as error:
                answer.error_code = int(failure(error, f"ListOffsets of {topic.name}"))
        if answers:
            response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return response


def _look_up(
    broker: Broker,
    version: int,
    request: ListOffsetsRequest,
    topic: str,
    wanted: ListOffsetsPartition,
) -> Found:
    timestamp = wanted.timestamp
    if timestamp < 0 and version < KNOWN_SINCE.get(timestamp, 2**15):
        raise UnsupportedVersion(f"timestamp {timestamp} in version {version}")
    partition = broker.replicas.get(topic, wanted.partition_index)
    if request.replica_id == DEBUGGER and partition.log is not None:
        log = partition.log
    else:
        log = partition.leader_log(wanted.current_leader_epoch)
    if request.replica_id != CONSUMER:
        end = log.written_end_offset  # what is queued may still fail to be written
    elif request.isolation_level == READ_COMMITTED:
        end = log.last_stable_offset
    else:
        end = log.high_watermark
    followers = partition.followers
    is_behind = (
        request.replica_id == CONSUMER
        and followers is not None
        and log.high_watermark < followers.epoch_start
    )
    unknown = OffsetNotAvailable if version >= NOT_AVAILABLE_SINCE else LeaderNotAvailable
    return _find(partition, log, timestamp, end, unknown if is_behind else None)


def _find(
    partition: Partition, log: Log, timestamp: int, end: int, unknown: type[ApiError] | None
) -> Found:
    """`unknown`: raised instead of an answer that may not be the last word."""
    match timestamp:
        case -1:
            if unknown is not None:
                raise unknown
            return end, -1, partition.leader_epoch
        case -2 | -4:  # nothing is tiered, so the local log is all there is
            return log.start_offset, -1, log.epochs.epoch_at(log.start_offset)
        case -5:
            return NOTHING
        case -3:
            found = log.find_max_timestamp()
        case _:
            found = log.find_by_time(timestamp)
    if found is None or found.offset >= end:
        if unknown is not None:
            raise unknown
        return NOTHING
    return found.offset, found.timestamp, found.leader_epoch

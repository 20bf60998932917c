"""DeleteRecords: move a partition's log start offset up; what is below it is gone.

Offset -1 stands for the high watermark.  Answered when every replica that is alive has done it,
with the low watermark: where the log begins on all of them.  A topic that is only compacted keeps
its records: POLICY_VIOLATION.  Internal topics are not for clients to delete from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, InvalidTopic, PolicyViolation
from barnabas.broker.dispatch import Later, RequestContext, attempts, handles
from barnabas.broker.handlers.shared import INTERNAL_TOPICS, failure
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from barnabas.replication.purgatory import Parked

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.replication.partition import Partition

TO_HIGH_WATERMARK = -1


class _Deletion:
    """What became of one partition of the request."""

    __slots__ = ("answer", "offset", "partition")

    def __init__(self, index: int) -> None:
        self.answer = DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1)
        self.partition: Partition | None = None
        self.offset = -1

    def is_done(self, broker: Broker) -> bool:
        """Whether every replica that is alive begins at the offset, or nobody can say any more."""
        partition = self.partition
        if partition is None:
            return True
        log = partition.log
        if not partition.is_leader or log is None:
            self._fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return True
        low = log.start_offset
        if partition.followers is not None:
            low = partition.followers.low_watermark(low, broker.replicas.is_alive)
        self.answer.low_watermark = low
        return low >= self.offset

    def give_up(self) -> None:
        self.answer.error_code = int(ErrorCode.REQUEST_TIMED_OUT)

    def _fail(self, code: ErrorCode) -> None:
        self.answer.error_code = int(code)
        self.answer.low_watermark = -1
        self.partition = None


@handles(ApiKey.DELETE_RECORDS, versions=(0, 2))
def delete_records(
    broker: Broker, ctx: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Later:
    response = DeleteRecordsResponse()
    deletions: list[_Deletion] = []
    for topic in request.topics:
        results = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(results)
        for wanted in topic.partitions:
            deletion = _Deletion(wanted.partition_index)
            deletions.append(deletion)
            results.partitions.append(deletion.answer)
            try:
                _delete(broker, topic.name, wanted, deletion)
            except Exception as error:
                deletion.answer.error_code = int(failure(error, f"DeleteRecords of {topic.name}"))
    waiting = [each for each in deletions if not each.is_done(broker)]
    if not waiting:
        return response
    later = Later()

    def attempt(expired: bool) -> bool:
        still = [each for each in waiting if not each.is_done(broker)]
        if still and not expired:
            return False
        for each in still:
            each.give_up()
        later.resolve(response)
        return True

    deadline = broker.clock.monotonic() + request.timeout_ms / 1000
    watched = [each.partition for each in waiting if each.partition is not None]
    parked = Parked(attempts(later, attempt), watched, deadline)
    broker.replicas.produces.park(parked)
    later.on_abandon = lambda: broker.replicas.produces.forget(parked)
    return later


def _delete(
    broker: Broker, topic: str, wanted: DeleteRecordsPartition, deletion: _Deletion
) -> None:
    partition = broker.replicas.get(topic, wanted.partition_index)
    if topic in INTERNAL_TOPICS:
        raise InvalidTopic(f"Records of {topic} are not deleted by clients.")
    log = partition.leader_log()
    if log.config.is_compacted and not log.config.is_deleted:
        raise PolicyViolation(f"{topic} is compacted: its records are not deleted.")
    to_end = wanted.offset == TO_HIGH_WATERMARK
    offset = log.high_watermark if to_end else wanted.offset
    log.delete_records_before(offset)
    deletion.partition = partition
    deletion.offset = offset
    if partition.followers is not None:  # they need not wait for records to hear of it
        for node_id in partition.followers.by_id:
            broker.replicas.fetches.hurry(broker.replicas.tail(node_id))

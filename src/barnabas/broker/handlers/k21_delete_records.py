"""DeleteRecords: move a partition's log start offset up; what is below it is gone.

Offset -1 stands for the high watermark.  A topic that is only compacted keeps its records: POLICY_
VIOLATION.  Internal topics are not for clients to delete from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidTopic, PolicyViolation
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.shared import INTERNAL_TOPICS, failure
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

TO_HIGH_WATERMARK = -1


@handles(ApiKey.DELETE_RECORDS, versions=(0, 2))
def delete_records(
    broker: Broker, ctx: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(broker, topic.name, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(
    broker: Broker, topic: str, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    answer = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
    try:
        answer.low_watermark = _low_watermark(broker, topic, wanted)
    except Exception as error:
        answer.error_code = int(failure(error, f"DeleteRecords of {topic}"))
    return answer


def _low_watermark(broker: Broker, topic: str, wanted: DeleteRecordsPartition) -> int:
    partition = broker.replicas.get(topic, wanted.partition_index)
    if topic in INTERNAL_TOPICS:
        raise InvalidTopic(f"Records of {topic} are not deleted by clients.")
    log = partition.leader_log()
    if log.config.is_compacted and not log.config.is_deleted:
        raise PolicyViolation(f"{topic} is compacted: its records are not deleted.")
    to_end = wanted.offset == TO_HIGH_WATERMARK
    return log.delete_records_before(log.high_watermark if to_end else wanted.offset)

"""AlterReplicaLogDirs (KIP-113): have replicas of this broker in other log directories of it.

Answered when the moves have begun; DescribeLogDirs tells how far they are.  A replica that is not
here yet is answered NOT_LEADER_OR_FOLLOWER and will be made in that directory: tools that bring a
replica to a broker say first where it is to be, and repeat it until it is there.  v2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode, UnknownTopicOrPartition
from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.shared import failure
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker


@handles(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2))
def alter_replica_log_dirs(
    broker: Broker, ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            result = results.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name)
            )
            for index in topic.partitions:
                code = _move(broker, topic.name, index, directory.path)
                result.partitions.append(
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=int(code))
                )
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _move(broker: Broker, topic: str, index: int, path: str) -> ErrorCode:
    try:
        directory = broker.logs.directory_at(path)
        if broker.image.partition(topic, index) is None:
            raise UnknownTopicOrPartition
        if not broker.logs.move(topic, index, directory):
            broker.replicas.get(topic, index).any_log()
    except Exception as error:
        return failure(error, f"AlterReplicaLogDirs of {topic}-{index}")
    return ErrorCode.NONE

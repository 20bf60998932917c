"""AlterReplicaLogDirs (KIP-113): which log directory of this broker a replica is to be in.

A replica that is still to come is put there when it comes; until then the answer is
REPLICA_NOT_AVAILABLE, after which tools ask again.  One that is there already needs nothing.  One
that is in another directory would have to be copied while it is written to, which is not done here:
UNSUPPORTED_VERSION.

v2: flexible.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ErrorCode,
    LogDirNotFound,
    ReplicaNotAvailable,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
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
    from barnabas.storage.directory import LogDirectory


@handles(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2))
def alter_replica_log_dirs(
    broker: Broker, ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            result = results.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name)
            )
            result.partitions += [
                AlterReplicaLogDirPartitionResult(
                    partition_index=index,
                    error_code=int(_place(broker, wanted.path, topic.name, index)),
                )
                for index in topic.partitions
            ]
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _place(broker: Broker, path: str, topic: str, index: int) -> ErrorCode:
    try:
        directory = _directory(broker, path)
        if broker.image.partition(topic, index) is None:
            raise UnknownTopicOrPartition(f"{topic}-{index}")
        log = broker.logs.get(topic, index)
        if log is None:
            broker.logs.prefer(topic, index, directory)
            raise ReplicaNotAvailable(f"{topic}-{index} is not here")
        if broker.logs.directory_of(log) is not directory:
            raise UnsupportedVersion(f"{log.directory} is not moved to {path}")
    except Exception as error:
        return failure(error, f"AlterReplicaLogDirs of {topic}-{index}")
    return ErrorCode.NONE


def _directory(broker: Broker, path: str) -> LogDirectory:
    for directory in broker.logs.directories:
        if os.path.abspath(directory.path) == os.path.normpath(path):
            if directory.failure is not None:
                raise directory.failure
            return directory
    raise LogDirNotFound(path)

"""DescribeLogDirs (KIP-113): what is in each log directory, and how much room there is.

v3: an error for the whole request.  v4: total and usable bytes of the volume (KIP-827).
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from barnabas.broker.dispatch import RequestContext, handles
from barnabas.broker.handlers.shared import failure
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.storage.directory import LogDirectory
    from barnabas.storage.log import Log
    from barnabas.storage.move import Move


@handles(ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 4))
def describe_log_dirs(
    broker: Broker, ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    return DescribeLogDirsResponse(
        results=[_describe(broker, directory, wanted) for directory in broker.logs.directories]
    )


def _describe(
    broker: Broker, directory: LogDirectory, wanted: set[tuple[str, int]] | None
) -> DescribeLogDirsResult:
    result = DescribeLogDirsResult(log_dir=os.path.abspath(directory.path))
    try:
        if directory.failure is not None:
            raise directory.failure
        result.total_bytes, result.usable_bytes = directory.space()
        result.topics = _topics(
            *(
                (log.topic, _replica(log))
                for key, log in directory.logs.items()
                if wanted is None or key in wanted
            ),
            *(
                (move.log.topic, _future(move))
                for move in broker.logs.moves.into(directory)
                if wanted is None or move.key in wanted
            ),
        )
    except Exception as error:
        result.error_code = int(failure(error, f"DescribeLogDirs of {directory.path}"))
    return result


def _replica(log: Log) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=log.partition,
        partition_size=log.size_bytes,
        offset_lag=max(0, log.high_watermark - log.end_offset),
    )


def _future(move: Move) -> DescribeLogDirsPartition:
    """A replica that is being moved here from another directory."""
    return DescribeLogDirsPartition(
        partition_index=move.log.partition,
        partition_size=move.size_bytes,
        offset_lag=move.offset_lag,
        is_future_key=True,
    )


def _topics(*replicas: tuple[str, DescribeLogDirsPartition]) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for name, replica in replicas:
        topic = topics.setdefault(name, DescribeLogDirsTopic(name=name))
        topic.partitions.append(replica)
    return list(topics.values())

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.broker.handlers.k35_describe_log_dirs import describe_log_dirs
from barnabas.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


@pytest.fixture
def filled(world: Any) -> Any:
    world.topic("t", partitions=2)
    world.topic("u")
    world.produce("t", 1, 2, index=1)
    return world


def partitions(world: Any, topic: str, count: int) -> DescribeLogDirsTopic:
    return DescribeLogDirsTopic(
        name=topic,
        partitions=[
            DescribeLogDirsPartition(
                partition_index=n, partition_size=world.partition(topic, n).log.size_bytes
            )
            for n in range(count)
        ],
    )


def test_everything_in_every_directory(filled: Any) -> None:
    answer = filled.call(describe_log_dirs, DescribeLogDirsRequest(topics=None), 4)

    (directory,) = filled.broker.logs.directories
    (result,) = answer.results
    assert result.total_bytes >= result.usable_bytes > 0
    result.total_bytes = result.usable_bytes = -1
    assert answer == DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                log_dir=directory.path,
                topics=[partitions(filled, "t", 2), partitions(filled, "u", 1)],
            )
        ]
    )
    assert filled.partition("t", 1).log.size_bytes > 0


def test_only_what_is_asked_for(filled: Any) -> None:
    request = DescribeLogDirsRequest(
        topics=[
            DescribableLogDirTopic(topic="t", partitions=[0, 8]),
            DescribableLogDirTopic(topic="nope", partitions=[0]),
        ]
    )

    (result,) = filled.call(describe_log_dirs, request, 1).results

    assert result.topics == [partitions(filled, "t", 1)]
    assert (
        filled.call(describe_log_dirs, DescribeLogDirsRequest(topics=[]), 4).results[0].topics == []
    )


def test_a_failed_directory_is_told_and_harms_no_other(make_world: Any, tmp_path: Any) -> None:
    world = make_world(**{"log.dirs": f"{tmp_path}/a,{tmp_path}/b"})
    first, second = world.broker.logs.directories
    first.failure = StorageFailed("gone")

    answer = world.call(describe_log_dirs, DescribeLogDirsRequest(topics=None), 2)

    assert [(r.log_dir, r.error_code) for r in answer.results] == [
        (first.path, ErrorCode.KAFKA_STORAGE_ERROR),
        (second.path, ErrorCode.NONE),
    ]

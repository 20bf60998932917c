from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.broker.handlers.k34_alter_replica_log_dirs import alter_replica_log_dirs
from barnabas.broker.handlers.k35_describe_log_dirs import describe_log_dirs
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest


@pytest.fixture
def two(make_world: Any, tmp_path: Path) -> Any:
    """A broker with two log directories and a topic in the first."""
    world = make_world(**{"log.dirs": f"{tmp_path}/a,{tmp_path}/b"})
    world.topic("t")
    world.produce("t", 1, 2)
    return world


def ask(world: Any, path: Path | str, topic: str, *partitions: int) -> list[tuple[int, int]]:
    wanted = AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=[wanted])])
    (result,) = world.call(alter_replica_log_dirs, request, 2).results
    assert result.topic_name == topic
    return [(one.partition_index, one.error_code) for one in result.partitions]


def described(world: Any) -> list[list[tuple[str, int, bool]]]:
    answer = world.call(describe_log_dirs, DescribeLogDirsRequest(topics=None), 4)
    return [
        [
            (topic.name, one.partition_index, one.is_future_key)
            for topic in result.topics
            for one in topic.partitions
        ]
        for result in answer.results
    ]


def test_a_replica_is_a_future_one_until_it_is_moved(two: Any, tmp_path: Path) -> None:
    log = two.partition("t").log
    before = log.size_bytes

    assert ask(two, tmp_path / "b", "t", 0) == [(0, ErrorCode.NONE)]

    assert described(two) == [[("t", 0, False)], [("t", 0, True)]]
    two.broker.logs.tick(two.broker.clock.now_ms())
    assert described(two) == [[], [("t", 0, False)]]
    assert two.partition("t").log is log
    assert log.directory == f"{tmp_path}/b/t-0"
    assert log.size_bytes == before
    two.produce("t", 3)
    assert log.end_offset > 2


def test_a_replica_that_is_there_already_stays(two: Any, tmp_path: Path) -> None:
    assert ask(two, tmp_path / "a", "t", 0) == [(0, ErrorCode.NONE)]
    two.broker.logs.tick(two.broker.clock.now_ms())
    assert described(two) == [[("t", 0, False)], []]


def test_what_cannot_be_moved_is_told_partition_by_partition(two: Any, tmp_path: Path) -> None:
    assert ask(two, tmp_path / "b", "t", 0, 7) == [
        (0, ErrorCode.NONE),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert ask(two, tmp_path / "b", "nope", 0) == [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert ask(two, tmp_path / "c", "t", 0) == [(0, ErrorCode.LOG_DIR_NOT_FOUND)]
    two.broker.logs.directories[1].failure = StorageFailed("gone")
    assert ask(two, tmp_path / "b", "t", 0) == [(0, ErrorCode.KAFKA_STORAGE_ERROR)]


def test_a_replica_that_comes_later_is_made_where_it_was_wanted(two: Any, tmp_path: Path) -> None:
    two.topic("u", replicas=(2,))
    assert ask(two, tmp_path / "a", "u", 0) == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    log = two.broker.logs.create("u", 0, bytes(16), two.partition("t").log.config)
    assert log.directory == f"{tmp_path}/a/u-0"

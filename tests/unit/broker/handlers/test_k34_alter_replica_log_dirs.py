from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.broker.handlers.k34_alter_replica_log_dirs import alter_replica_log_dirs
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)


@pytest.fixture
def world(make_world: Any, tmp_path: Path) -> Any:
    """Two log directories; t-0 is here, in the first."""
    made = make_world(**{"log.dirs": f"{tmp_path}/a,{tmp_path}/b"})
    made.topic("t")
    return made


def ask(world: Any, *wishes: tuple[Path, str, int]) -> list[tuple[str, int, int]]:
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=str(path), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[index])]
            )
            for path, topic, index in wishes
        ]
    )
    return [
        (topic.topic_name, each.partition_index, each.error_code)
        for topic in world.call(alter_replica_log_dirs, request, 2).results
        for each in topic.partitions
    ]


def test_a_replica_that_is_where_it_should_be_needs_nothing(world: Any, tmp_path: Path) -> None:
    assert ask(world, (tmp_path / "a", "t", 0)) == [("t", 0, ErrorCode.NONE)]
    assert ask(world, (tmp_path / "b/../a", "t", 0)) == [("t", 0, ErrorCode.NONE)]


def test_what_is_asked_is_answered_by_topic(world: Any, tmp_path: Path) -> None:
    assert ask(world, (tmp_path / "a", "t", 0), (tmp_path / "a", "u", 3), (tmp_path, "t", 0)) == [
        ("t", 0, ErrorCode.NONE),
        ("t", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("u", 3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_a_replica_is_not_moved_between_directories(world: Any, tmp_path: Path) -> None:
    assert ask(world, (tmp_path / "b", "t", 0)) == [("t", 0, ErrorCode.UNSUPPORTED_VERSION)]
    assert world.partition("t", 0).log.directory == f"{tmp_path}/a/t-0"


def test_a_directory_that_failed_takes_nothing(world: Any, tmp_path: Path) -> None:
    world.broker.logs.directories[1].failure = StorageFailed("gone")
    assert ask(world, (tmp_path / "b", "t", 0)) == [("t", 0, ErrorCode.KAFKA_STORAGE_ERROR)]


def test_a_replica_that_is_still_to_come_is_put_there(world: Any, tmp_path: Path) -> None:
    logs = world.broker.logs
    log = logs.get("t", 0)
    logs.delete(log)  # as if the metadata had not given it to this broker yet

    assert ask(world, (tmp_path / "b", "t", 0)) == [("t", 0, ErrorCode.REPLICA_NOT_AVAILABLE)]

    made = logs.create("t", 0, log.topic_id, world.log_config("t"))
    assert made.directory == f"{tmp_path}/b/t-0"
    assert ask(world, (tmp_path / "b", "t", 0)) == [("t", 0, ErrorCode.NONE)]

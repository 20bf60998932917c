from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k23_offset_for_leader_epoch import offset_for_leader_epoch
from barnabas.protocol.messages.metadata_records import PartitionChangeRecord
from barnabas.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)


def ask(epoch: int, *, current: int = -1, topic: str = "t", index: int = 0) -> Any:
    wanted = OffsetForLeaderPartition(
        partition=index, current_leader_epoch=current, leader_epoch=epoch
    )
    return OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    )


def told(topic: str = "t", **fields: Any) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[OffsetForLeaderTopicResult(topic=topic, partitions=[EpochEndOffset(**fields)])]
    )


@pytest.fixture
def two_epochs(world: Any) -> Any:
    """Two records in epoch 3, one in epoch 5."""
    topic_id = world.topic("t", leader_epoch=3)
    world.produce("t", 1, 2)
    for _ in range(2):
        world.replay(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1))
    world.produce("t", 3)
    return world


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (3, told(leader_epoch=3, end_offset=2)),
        (4, told(leader_epoch=3, end_offset=2)),
        (5, told(leader_epoch=5, end_offset=3)),
        (6, told()),
        (-1, told()),
    ],
)
def test_where_an_epoch_ended(two_epochs: Any, version: int, epoch: int, expected: Any) -> None:
    assert two_epochs.call(offset_for_leader_epoch, ask(epoch), version) == expected


@pytest.mark.parametrize(
    ("current", "error"),
    [(4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_the_reader_must_believe_in_the_current_leader(
    two_epochs: Any, current: int, error: ErrorCode
) -> None:
    answer = two_epochs.call(offset_for_leader_epoch, ask(3, current=current), 4)

    assert answer == told(error_code=error)


def test_unknown_and_not_led(two_epochs: Any) -> None:
    two_epochs.register(2)
    two_epochs.topic("followed", replicas=(2, 1))

    def call(request: Any) -> Any:
        return two_epochs.call(offset_for_leader_epoch, request, 4)

    assert call(ask(3, topic="nope")) == told("nope", error_code=3)
    assert call(ask(3, index=7)) == told(partition=7, error_code=3)
    assert call(ask(3, topic="followed")) == told("followed", error_code=6)

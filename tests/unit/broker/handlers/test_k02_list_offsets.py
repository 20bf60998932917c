from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k02_list_offsets import list_offsets
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

LATEST_VERSION = 10


def ask(
    timestamp: int,
    *,
    topic: str = "t",
    index: int = 0,
    epoch: int = -1,
    replica: int = -1,
    isolation: int = 0,
) -> ListOffsetsRequest:
    wanted = ListOffsetsPartition(
        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch
    )
    return ListOffsetsRequest(
        replica_id=replica,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
    )


def found(offset: int, timestamp: int = -1, epoch: int = 0) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(offset=offset, timestamp=timestamp, leader_epoch=epoch)


def failed(error: ErrorCode, index: int = 0) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=error)


NOTHING = found(-1, -1, -1)


def answer(
    world: Any, request: ListOffsetsRequest, version: int = LATEST_VERSION
) -> ListOffsetsPartitionResponse:
    (topic,) = world.call(list_offsets, request, version).topics
    assert topic.name == request.topics[0].name
    (partition,) = topic.partitions
    return partition  # type: ignore[no-any-return]


@pytest.fixture
def filled(world: Any) -> Any:
    """Offsets 0 to 4, of which 3 has the greatest timestamp; the log begins at 1."""
    world.topic("t")
    world.produce("t", 1_000, 1_010)
    world.produce("t", 1_020, 1_050, 1_030)
    world.partition("t").log.delete_records_before(1)
    return world


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, found(5)),
        (-2, found(1)),
        (-3, found(3, 1_050)),
        (-4, found(1)),
        (-5, NOTHING),
        (0, found(1, 1_010)),
        (1_010, found(1, 1_010)),
        (1_011, found(2, 1_020)),
        (1_050, found(3, 1_050)),
        (1_051, NOTHING),
    ],
)
def test_each_question(filled: Any, timestamp: int, expected: ListOffsetsPartitionResponse) -> None:
    assert answer(filled, ask(timestamp)) == expected


@pytest.mark.parametrize(
    ("timestamp", "since"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 99)]
)
@pytest.mark.parametrize("version", range(1, LATEST_VERSION + 1))
def test_questions_are_known_since_some_version(
    filled: Any, timestamp: int, since: int, version: int
) -> None:
    told = answer(filled, ask(timestamp), version).error_code

    assert told == (ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION)


def test_epochs_are_told_since_version_4(filled: Any) -> None:
    assert answer(filled, ask(-1), 3).leader_epoch == -1
    assert answer(filled, ask(-1), 4).leader_epoch == 0


def test_an_empty_partition(world: Any) -> None:
    world.topic("t")

    assert answer(world, ask(-1)) == found(0)
    assert answer(world, ask(-2)) == found(0)
    assert answer(world, ask(-3)) == NOTHING
    assert answer(world, ask(5)) == NOTHING


def test_what_is_above_the_high_watermark_is_only_for_followers_and_debuggers(filled: Any) -> None:
    filled.partition("t").log.high_watermark = 3

    assert answer(filled, ask(-1)) == found(3)
    assert answer(filled, ask(-3)) == NOTHING
    assert answer(filled, ask(1_050)) == NOTHING
    assert answer(filled, ask(1_020)) == found(2, 1_020)
    assert answer(filled, ask(-1, replica=2)) == found(5)
    assert answer(filled, ask(-3, replica=2)) == found(3, 1_050)
    assert answer(filled, ask(-1, replica=-2)) == found(5)


def test_a_transactional_reader_sees_up_to_the_last_stable_offset(world: Any) -> None:
    world.topic("t")
    world.produce("t", 1_000)
    world.produce("t", 1_010, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)

    assert answer(world, ask(-1, isolation=1)) == found(1)
    assert answer(world, ask(-1, isolation=0)) == found(2)
    assert answer(world, ask(1_010, isolation=1)) == NOTHING
    assert answer(world, ask(-1, isolation=1, replica=2)) == found(2)


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, ErrorCode.NONE),
        (3, ErrorCode.NONE),
        (2, ErrorCode.FENCED_LEADER_EPOCH),
        (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_the_leader_epoch_must_be_the_current_one(world: Any, epoch: int, error: ErrorCode) -> None:
    world.topic("t", leader_epoch=3)

    assert answer(world, ask(-1, epoch=epoch)) == (
        found(0, epoch=3) if error is ErrorCode.NONE else failed(error)
    )


def test_only_the_leader_answers_clients(world: Any) -> None:
    world.register(2)
    world.topic("followed", replicas=(2, 1))
    world.topic("elsewhere", replicas=(2,))

    assert answer(world, ask(-1, topic="followed")) == failed(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert answer(world, ask(-1, topic="elsewhere")) == failed(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert answer(world, ask(-2, topic="followed", replica=-2)).error_code == ErrorCode.NONE


def test_unknown_partitions(filled: Any) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert answer(filled, ask(-1, topic="nope")) == failed(unknown)
    assert answer(filled, ask(-1, index=9)) == failed(unknown, index=9)


def test_a_partition_asked_twice_is_refused_once_and_harms_no_other(filled: Any) -> None:
    filled.topic("u")
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name="t",
                partitions=[
                    ListOffsetsPartition(partition_index=0, timestamp=-1),
                    ListOffsetsPartition(partition_index=0, timestamp=-2),
                ],
            ),
            ListOffsetsTopic(
                name="u", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
            ),
        ],
    )

    assert filled.call(list_offsets, request, 7) == ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name="t", partitions=[failed(ErrorCode.INVALID_REQUEST)]),
            ListOffsetsTopicResponse(name="u", partitions=[found(0)]),
        ]
    )


def test_a_fault_of_one_partition_is_logged_and_told_for_it_alone(
    filled: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: object, timestamp: int) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(type(filled.partition("t").log), "find_by_time", broken)

    assert answer(filled, ask(5)) == failed(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert "a bug" in caplog.text

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k21_delete_records import delete_records
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)


def delete(world: Any, topic: str, offset: int, index: int = 0) -> tuple[int, int]:
    """Low watermark and error code."""
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic,
                partitions=[DeleteRecordsPartition(partition_index=index, offset=offset)],
            )
        ],
        timeout_ms=1_000,
    )
    answer = world.call(delete_records, request, 2)
    (result,) = answer.topics[0].partitions
    assert answer == DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=index,
                        low_watermark=result.low_watermark,
                        error_code=result.error_code,
                    )
                ],
            )
        ]
    )
    return result.low_watermark, result.error_code


@pytest.fixture
def filled(world: Any) -> Any:
    world.topic("t")
    world.produce("t", 1, 2, 3, 4, 5)
    return world


def test_the_log_begins_at_the_offset_and_never_goes_back(filled: Any) -> None:
    assert delete(filled, "t", 2) == (2, ErrorCode.NONE)
    assert delete(filled, "t", 1) == (2, ErrorCode.NONE)
    assert filled.partition("t").log.start_offset == 2


def test_minus_one_is_the_high_watermark(filled: Any) -> None:
    assert delete(filled, "t", -1) == (5, ErrorCode.NONE)


@pytest.mark.parametrize("offset", [6, -2])
def test_beyond_the_log_is_refused(filled: Any, offset: int) -> None:
    assert delete(filled, "t", offset) == (-1, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert filled.partition("t").log.start_offset == 0


def test_beyond_the_high_watermark_is_refused(filled: Any) -> None:
    filled.partition("t").log.high_watermark = 3

    assert delete(filled, "t", 4) == (-1, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert delete(filled, "t", -1) == (3, ErrorCode.NONE)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("compact", (-1, ErrorCode.POLICY_VIOLATION)),
        ("compact,delete", (1, ErrorCode.NONE)),
        ("delete", (1, ErrorCode.NONE)),
    ],
)
def test_topics_that_are_only_compacted_keep_their_records(
    world: Any, policy: str, expected: tuple[int, ErrorCode]
) -> None:
    world.topic("c", cleanup_policy=policy)
    world.produce("c", 1, 2)

    assert delete(world, "c", 1) == expected


def test_who_cannot_be_deleted_from(filled: Any) -> None:
    filled.topic("__consumer_offsets")
    filled.register(2)
    filled.topic("followed", replicas=(2, 1))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert delete(filled, "nope", 0) == (-1, unknown)
    assert delete(filled, "two words", 0) == (-1, unknown)
    assert delete(filled, "t", 0, index=4) == (-1, unknown)
    assert delete(filled, "followed", 0) == (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert delete(filled, "__consumer_offsets", 0) == (-1, ErrorCode.INVALID_TOPIC_EXCEPTION)

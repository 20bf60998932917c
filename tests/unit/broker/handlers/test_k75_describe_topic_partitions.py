from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k75_describe_topic_partitions import describe_topic_partitions
from barnabas.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)


def ask(
    *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor and Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )


def shape(answer: DescribeTopicPartitionsResponse) -> tuple[dict[str, list[int]], Any]:
    """Partition indexes by topic, and the next cursor."""
    cursor = answer.next_cursor
    return (
        {t.name or "": [p.partition_index for p in t.partitions] for t in answer.topics},
        cursor and (cursor.topic_name, cursor.partition_index),
    )


def test_the_whole_answer(world: Any) -> None:
    topic_id = world.topic("orders", replicas=(1, 2))

    answer = world.call(describe_topic_partitions, ask("orders", "two words", "nope"), 0)

    assert answer == DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                name="nope",
                topic_authorized_operations=3576,
            ),
            DescribeTopicPartitionsResponseTopic(
                name="orders",
                topic_id=topic_id,
                partitions=[
                    DescribeTopicPartitionsResponsePartition(
                        partition_index=0,
                        leader_id=1,
                        leader_epoch=0,
                        replica_nodes=[1, 2],
                        isr_nodes=[1, 2],
                        eligible_leader_replicas=[],
                        last_known_elr=[],
                        offline_replicas=[2],
                    )
                ],
                topic_authorized_operations=3576,
            ),
            DescribeTopicPartitionsResponseTopic(
                error_code=ErrorCode.INVALID_TOPIC_EXCEPTION,
                name="two words",
                topic_authorized_operations=3576,
            ),
        ]
    )


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (ask(), ({"a": [0], "b": [0, 1, 2]}, None)),
        (ask("b", "a", "b"), ({"a": [0], "b": [0, 1, 2]}, None)),
        (ask(limit=4), ({"a": [0], "b": [0, 1, 2]}, None)),
        (ask(limit=2), ({"a": [0], "b": [0]}, ("b", 1))),
        (ask(limit=1), ({"a": [0]}, ("b", 0))),
        (ask(limit=0), ({"a": [0]}, ("b", 0))),
        (ask(cursor=("b", 1)), ({"b": [1, 2]}, None)),
        (ask(cursor=("b", 3)), ({"b": []}, None)),
        (ask(cursor=("aa", 1)), ({"b": [0, 1, 2]}, None)),
        (ask("a", "b", cursor=("b", 2)), ({"b": [2]}, None)),
        (ask("nope", "b", limit=1), ({"b": [0]}, ("b", 1))),
    ],
)
def test_pages(world: Any, request_: DescribeTopicPartitionsRequest, expected: Any) -> None:
    world.topic("b", partitions=3)
    world.topic("a")

    assert shape(world.call(describe_topic_partitions, request_, 0)) == expected


def test_the_broker_limits_pages_too(make_world: Callable[..., Any]) -> None:
    world = make_world(**{"max.request.partition.size.limit": "2"})
    world.topic("b", partitions=3)

    assert shape(world.call(describe_topic_partitions, ask(), 0)) == ({"b": [0, 1]}, ("b", 2))


@pytest.mark.parametrize("cursor", [("z", 0), ("b", -1)])
def test_a_cursor_that_points_nowhere_is_refused(world: Any, cursor: tuple[str, int]) -> None:
    world.topic("b")

    answer = world.call(describe_topic_partitions, ask("b", cursor=cursor), 0)

    assert answer == DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name="b")
        ]
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(limit=st.integers(1, 9))
def test_all_pages_together_have_everything_once(world: Any, limit: int) -> None:
    for name, count in (("a", 1), ("b", 4), ("c", 2)):
        if name not in world.image.topics:
            world.topic(name, partitions=count)
    seen: list[tuple[str | None, int]] = []
    cursor: tuple[str, int] | None = None
    for _ in range(10):
        answer = world.call(describe_topic_partitions, ask(limit=limit, cursor=cursor), 0)
        seen += [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        cursor = shape(answer)[1]
        if cursor is None:
            break

    assert seen == [("a", 0), *(("b", n) for n in range(4)), ("c", 0), ("c", 1)]

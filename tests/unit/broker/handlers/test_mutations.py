"""controller_mutation_rate: who makes or deletes too many partitions is refused, or waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import Later
from barnabas.broker.handlers.k03_metadata import metadata
from barnabas.broker.handlers.k19_create_topics import create_topics
from barnabas.broker.handlers.k20_delete_topics import delete_topics
from barnabas.broker.handlers.k37_create_partitions import create_partitions
from barnabas.protocol.message import Message
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

REFUSED = int(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
RATE = 2.0
FREE = 22
"""What may be made at once: eleven windows of a second."""


@pytest.fixture
def limited(world: Any) -> Any:
    world.decide_for_real()
    world.broker.quotas.apply({(("client-id", "test"),): {"controller_mutation_rate": RATE}})
    return world


def call(world: Any, handler: Callable[..., Any], request: Message, version: int) -> Any:
    ctx = world.ctx(request, version)
    ctx.limits = world.broker.quotas.of("ANONYMOUS", "test")
    answer = handler(world.broker, ctx, request)
    if isinstance(answer, Later):
        found: list[Any] = []
        answer.when_done(found.append)
        (answer,) = found
    return answer


def creation(**topics: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=count, replication_factor=1)
            for name, count in topics.items()
        ]
    )


def codes(results: list[Any]) -> dict[str, int]:
    return {result.name: result.error_code for result in results}


def owed(world: Any) -> float:
    found: float = world.broker.quotas.of("ANONYMOUS", "test").mutations.pause(world.clock.mono)
    return found


def test_topics_are_made_until_something_is_owed(limited: Any) -> None:
    answer = call(limited, create_topics, creation(a=20, b=10, c=1), 7)

    assert codes(answer.topics) == {"a": 0, "b": 0, "c": REFUSED}
    assert answer.throttle_time_ms == 4000
    assert set(limited.image.topics) == {"a", "b"}
    limited.clock.mono += 4.0
    again = call(limited, create_topics, creation(c=1), 7)
    assert (codes(again.topics), again.throttle_time_ms) == ({"c": 0}, 0)


def test_when_all_are_refused_the_controller_is_not_asked(limited: Any) -> None:
    call(limited, create_topics, creation(a=40), 7)
    limited.controller.submit = None

    answer = call(limited, create_topics, creation(b=1), 6)

    assert codes(answer.topics) == {"b": REFUSED}
    assert answer.topics[0].error_message


def test_old_clients_are_served_and_wait(limited: Any) -> None:
    answer = call(limited, create_topics, creation(a=30, b=2), 5)

    assert codes(answer.topics) == {"a": 0, "b": 0}
    assert answer.throttle_time_ms == 5000


def test_what_fails_costs_nothing(limited: Any) -> None:
    limited.topic("there")

    answer = call(limited, create_topics, creation(there=100), 7)

    assert codes(answer.topics) == {"there": int(ErrorCode.TOPIC_ALREADY_EXISTS)}
    assert owed(limited) == 0.0


def test_partitions_that_are_assigned_or_left_to_the_broker_count(limited: Any) -> None:
    assigned = CreatableTopic(
        name="a",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in range(21)
        ],
    )
    default = CreatableTopic(name="b", num_partitions=-1, replication_factor=1)

    answer = call(limited, create_topics, CreateTopicsRequest(topics=[assigned, default]), 7)

    assert codes(answer.topics) == {"a": 0, "b": 0}
    assert owed(limited) == 0.0
    call(limited, create_topics, creation(c=2), 7)
    assert owed(limited) == 1.0


def test_new_partitions_of_a_topic_count(limited: Any) -> None:
    limited.topic("a", 10)
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name="a", count=42, assignments=None),
            CreatePartitionsTopic(name="none", count=42, assignments=None),
        ],
        timeout_ms=1000,
    )

    answer = call(limited, create_partitions, request, 3)

    assert codes(answer.results) == {"a": 0, "none": REFUSED}
    assert answer.throttle_time_ms == 5000


@pytest.mark.parametrize("by_id", [False, True])
def test_partitions_that_are_deleted_count(limited: Any, by_id: bool) -> None:
    ids = {name: limited.topic(name, 24) for name in ("a", "b")}
    states = [
        DeleteTopicState(topic_id=ids[name]) if by_id else DeleteTopicState(name=name)
        for name in ids
    ]

    answer = call(limited, delete_topics, DeleteTopicsRequest(topics=states, timeout_ms=1000), 6)

    assert [result.error_code for result in answer.responses] == [0, REFUSED]
    assert answer.responses[1].topic_id == (ids["b"] if by_id else bytes(16))
    assert answer.throttle_time_ms == 1000
    assert set(limited.image.topics) == {"b"}


def test_a_failed_deletion_by_id_costs_nothing(limited: Any) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=b"x" * 16)], timeout_ms=1000)

    call(limited, delete_topics, request, 6)

    assert owed(limited) == 0.0


def test_a_topic_is_not_made_by_its_mere_use_while_something_is_owed(limited: Any) -> None:
    call(limited, create_topics, creation(a=40), 7)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new")])

    answer = call(limited, metadata, request, 12)

    assert codes(answer.topics) == {"new": int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
    assert "new" not in limited.image.topics
    limited.clock.mono += 60.0
    call(limited, metadata, request, 12)
    assert "new" in limited.image.topics

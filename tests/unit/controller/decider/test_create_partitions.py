"""Codes and messages here were recorded from Apache Kafka 4.0 and 4.3."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from barnabas.protocol.messages.metadata_records import PartitionRecord

DIR_OF_1 = bytes([101, 0]) + bytes(14)


def topic(name: str, count: int, *on: list[int], assigned: bool = False) -> CreatePartitionsTopic:
    assignments = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in on]
    return CreatePartitionsTopic(
        name=name, count=count, assignments=assignments if on or assigned else None
    )


def request(*topics: CreatePartitionsTopic, validate_only: bool = False) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)


def refused(name: str, code: int, message: str | None) -> Decision:
    result = CreatePartitionsTopicResult(name=name, error_code=code, error_message=message)
    return Decision(response=CreatePartitionsResponse(results=[result]))


def test_new_partitions_come_after_the_old_ones(single: Any) -> None:
    topic_id = single.add_topic("t", [1])

    decision = single.decide(request(topic("t", 3)))

    assert decision == Decision(
        records=tuple(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[DIR_OF_1],
            )
            for index in (1, 2)
        ),
        response=CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="t")]),
    )


def test_checking_only_changes_nothing(single: Any) -> None:
    single.add_topic("t", [1])

    decision = single.decide(request(topic("t", 3), validate_only=True))

    assert decision.records == ()
    assert decision.response.results == [CreatePartitionsTopicResult(name="t")]


def test_new_partitions_have_as_many_replicas_as_the_old(trio: Any) -> None:
    trio.add_topic("t", [1, 2])

    trio.do(request(topic("t", 4)))

    assert {len(p.replicas) for p in trio.image.topics["t"].partitions} == {2}


def test_new_partitions_go_where_the_request_says(trio: Any) -> None:
    trio.add_topic("t", [1, 2])

    trio.do(request(topic("t", 3, [3, 1], [2, 3])))

    assert [p.replicas for p in trio.image.topics["t"].partitions] == [(1, 2), (3, 1), (2, 3)]


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (topic("cp", 3), 37, "Topic already has 3 partition(s)."),
        (
            topic("cp", 2),
            37,
            "The topic cp currently has 3 partition(s); 2 would not be an increase.",
        ),
        (
            topic("cp", -1),
            37,
            "The topic cp currently has 3 partition(s); -1 would not be an increase.",
        ),
        (topic("nope", 3), 3, None),
        (
            topic("cp", 5, [1]),
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            topic("cp", 4, assigned=True),
            39,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        (
            topic("cp", 4, [9]),
            39,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            topic("cp", 4, []),
            39,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            topic("cp", 4, [1, 1]),
            39,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (topic("cp", 10_004), 44, "Excessively large number of partitions per request."),
    ],
)
def test_what_kafka_refuses_is_refused_in_its_words(
    single: Any, asked: CreatePartitionsTopic, code: int, message: str | None
) -> None:
    single.add_topic("cp", [1], [1], [1])

    assert single.decide(request(asked)) == refused(asked.name, code, message)


def test_a_topic_named_twice_is_refused_once(single: Any) -> None:
    single.add_topic("t", [1])

    decision = single.decide(request(topic("t", 2), topic("t", 3)))

    assert decision == refused("t", 42, "Duplicate topic name.")


def test_too_many_partitions_over_several_topics_are_refused(single: Any) -> None:
    single.add_topic("t", [1])
    single.add_topic("u", [1])

    decision = single.decide(request(topic("t", 6_001), topic("u", 6_001)))

    assert [r.error_code for r in decision.response.results] == [0, 44]
    assert len(decision.records) == 6_000


def test_a_wrong_number_of_replicas_is_refused(trio: Any) -> None:
    trio.add_topic("t", [1, 2])

    decision = trio.decide(request(topic("t", 2, [3])))

    assert decision == refused(
        "t",
        39,
        "The manual partition assignment includes a partition with 1 replica(s), but this is not "
        "consistent with previous partitions, which have 2 replica(s).",
    )


def test_nothing_could_be_done_is_said_of_every_topic() -> None:
    response = decider.refuse(request(topic("a", 1), topic("b", 1)), StorageFailed("full"))

    assert response == CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=name, error_code=56, error_message="full")
            for name in ("a", "b")
        ]
    )

"""Codes and messages here were recorded from Apache Kafka 4.0 and 4.3."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.base.ids import NO_ID
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.protocol.messages.metadata_records import RemoveTopicRecord

UNKNOWN_ID = b"z" * 16


def by_name(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names])


def by_id(*ids: bytes) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=i) for i in ids])


def result(
    name: str | None, topic_id: bytes = NO_ID, code: int = 0, message: str | None = None
) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=code, error_message=message
    )


def test_a_topic_is_deleted_by_name_or_by_id(single: Any) -> None:
    a, b = single.add_topic("a", [1]), single.add_topic("b", [1])

    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="a"), DeleteTopicState(topic_id=b)])

    assert single.decide(request) == Decision(
        records=(RemoveTopicRecord(topic_id=a), RemoveTopicRecord(topic_id=b)),
        response=DeleteTopicsResponse(responses=[result("a", a), result("b", b)]),
    )


def test_older_requests_only_have_names(single: Any) -> None:
    a = single.add_topic("a", [1])

    decision = single.decide(DeleteTopicsRequest(topic_names=["a"]))

    assert decision.records == (RemoveTopicRecord(topic_id=a),)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            by_name("nope"),
            result("nope", code=3, message="This server does not host this topic-partition."),
        ),
        (
            by_id(UNKNOWN_ID),
            result(None, UNKNOWN_ID, code=100, message="This server does not host this topic ID."),
        ),
        (
            by_id(NO_ID),
            result(None, code=42, message="Neither topic name nor id were specified."),
        ),
        (
            DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=UNKNOWN_ID)]),
            result(
                "t",
                UNKNOWN_ID,
                code=42,
                message="You may not specify both topic name and topic id.",
            ),
        ),
        (by_name("t", "t"), result("t", code=42, message="Duplicate topic name.")),
        (
            by_id(UNKNOWN_ID, UNKNOWN_ID),
            result(None, UNKNOWN_ID, code=42, message="Duplicate topic id."),
        ),
    ],
    ids=["unknown name", "unknown id", "neither", "both", "name twice", "id twice"],
)
def test_what_kafka_refuses_is_refused_in_its_words(
    single: Any, request_: DeleteTopicsRequest, expected: DeletableTopicResult
) -> None:
    single.add_topic("t", [1])

    assert single.decide(request_) == Decision(response=DeleteTopicsResponse(responses=[expected]))


def test_a_topic_asked_for_by_name_and_by_id_is_answered_once_and_stays(single: Any) -> None:
    t = single.add_topic("t", [1])
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t"), DeleteTopicState(topic_id=t)])

    assert single.decide(request) == Decision(
        response=DeleteTopicsResponse(
            responses=[
                result(
                    "t",
                    t,
                    code=42,
                    message="The provided topic name maps to an ID that was already supplied.",
                )
            ]
        )
    )


def test_deletion_can_be_switched_off(make_world: Any) -> None:
    world = make_world(**{"delete.topic.enable": "false"})
    world.add_broker(1)
    world.add_topic("t", [1])

    decision = world.decide(by_name("t"))

    assert decision.records == ()
    assert decision.response.responses[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED


def test_nothing_could_be_done_is_said_of_every_topic() -> None:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="a"), DeleteTopicState(topic_id=UNKNOWN_ID)]
    )

    assert decider.refuse(request, StorageFailed("full")) == DeleteTopicsResponse(
        responses=[
            result("a", code=56, message="full"),
            result(None, UNKNOWN_ID, code=56, message="full"),
        ]
    )


@pytest.mark.parametrize("version", range(1, 7))
def test_the_answer_fits_every_version(single: Any, version: int) -> None:
    response = single.decide(by_name("nope")).response

    decoded = DeleteTopicsResponse.decode(response.encode(version), version)

    assert decoded.responses[0].error_code == 3

"""A rule strikes what it is about, as often as it may, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from passing_messages import passing_request, passing_response

from barnabas.lab.faults.conditions import acked
from barnabas.lab.faults.rules import Action, Match, Rule, api_key
from barnabas.lab.faults.traffic import Traffic
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

PRODUCE = ProduceRequest(
    acks=1,
    topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=2)])],
)
NOT_ENOUGH_REPLICAS = 19


def answer(error: int = 0) -> ProduceResponse:
    partition = PartitionProduceResponse(index=2, error_code=error)
    return ProduceResponse(
        responses=[TopicProduceResponse(name="t", partition_responses=[partition])]
    )


@pytest.mark.parametrize(
    ("match", "strikes"),
    [
        ({}, True),
        ({"api": ApiKey.PRODUCE}, True),
        ({"api": ApiKey.FETCH}, False),
        ({"direction": "response"}, False),
        ({"topic": "t"}, True),
        ({"topic": "u"}, False),
        ({"topic": "t", "partition": 2}, True),
        ({"topic": "t", "partition": 1}, False),
        ({"client": "client"}, True),
        ({"client": "other"}, False),
        ({"broker": 1}, True),
        ({"broker": 2}, False),
        ({"api": ApiKey.PRODUCE, "topic": "t", "client": "client", "broker": 1}, True),
    ],
)
def test_each_word_of_a_match_counts(match: dict[str, Any], strikes: bool) -> None:
    assert Match(**match).matches(passing_request(PRODUCE, 9)) is strikes


def test_a_message_that_names_no_topic_is_not_of_a_topic() -> None:
    assert not Match(topic="t").matches(passing_request(HeartbeatRequest(group_id="t"), 4))


def test_only_an_answer_without_error_acknowledges() -> None:
    match = Match(direction="response", api=ApiKey.PRODUCE, topic="t", acknowledges=True)

    assert match.matches(passing_response(answer(), 9))
    assert not match.matches(passing_response(answer(NOT_ENOUGH_REPLICAS), 9))


def test_a_rule_strikes_as_often_as_it_may() -> None:
    rule = Rule(match=Match(), action=Action.DROP, left=2)
    passing = passing_request(PRODUCE, 9)

    assert [rule.strikes(passing, Traffic()) for _ in range(3)] == [True, True, False]
    assert rule.struck == 2


def test_a_rule_waits_for_its_moment() -> None:
    rule = Rule(match=Match(), action=Action.DROP, when=acked("t") >= 5)
    traffic, passing = Traffic(), passing_request(PRODUCE, 9)

    assert not rule.strikes(passing, traffic)
    traffic.acked["t", 0] = 5
    assert rule.strikes(passing, traffic)


def test_an_api_is_known_by_its_name_in_the_protocol() -> None:
    assert api_key("OffsetCommit") == ApiKey.OFFSET_COMMIT
    assert api_key("produce") == ApiKey.PRODUCE
    with pytest.raises(ValueError, match="no API called Produced"):
        api_key("Produced")


def test_a_match_is_told_in_words() -> None:
    match = Match(api=ApiKey.PRODUCE, direction="response", topic="t", partition=2, broker=1)

    assert str(match) == "Produce responses of t-2 at broker 1"
    assert str(Match(client="c")) == "messages of client c"

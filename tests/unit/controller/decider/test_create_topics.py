"""Codes and messages here were recorded from Apache Kafka 4.0 and 4.3, one broker with id 1."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

DIR_OF_1 = bytes([101, 0]) + bytes(14)


def topic(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    *,
    on: list[tuple[int, list[int]]] | None = None,
    config: dict[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in on or []
        ],
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in (config or {}).items()],
    )


def request(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), validate_only=validate_only)


def outcome(response: Any) -> list[tuple[str, int, str | None]]:
    return [(t.name, t.error_code, t.error_message) for t in response.topics]


def test_a_topic_is_its_record_then_settings_then_partitions(single: Any) -> None:
    decision = single.decide(request(topic("t", 2, config={"retention.ms": "5"})))

    topic_id = decision.response.topics[0].topic_id
    assert topic_id != bytes(16)
    assert decision.records == (
        mr.TopicRecord(name="t", topic_id=topic_id),
        mr.ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="5"),
        *(
            mr.PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[DIR_OF_1],
            )
            for index in (0, 1)
        ),
    )


def test_the_answer_describes_the_new_topic(make_world: Any) -> None:
    world = make_world(**{"num.partitions": "3", "log.retention.bytes": "77"})
    world.add_broker(1)
    world.do(request(topic("other")))

    (result,) = world.do(request(topic("t", -1, -1, config={"segment.bytes": "2000000"}))).topics

    assert (result.error_code, result.error_message) == (0, None)
    assert (result.num_partitions, result.replication_factor) == (3, 1)
    found = {
        c.name: (c.value, c.config_source, c.read_only, c.is_sensitive) for c in result.configs
    }
    assert found["segment.bytes"] == ("2000000", 1, False, False)
    assert found["retention.bytes"] == ("77", 4, False, False)
    assert found["cleanup.policy"] == ("delete", 5, False, False)
    assert list(found) == sorted(found)


def test_dynamic_broker_settings_count_in_the_description(single: Any) -> None:
    single.replay(
        mr.ConfigRecord(resource_type=4, resource_name="", name="log.retention.ms", value="9")
    )

    (result,) = single.do(request(topic("t"))).topics

    found = {c.name: (c.value, c.config_source) for c in result.configs}
    assert found["retention.ms"] == ("9", 3)


def test_checking_only_changes_nothing_and_answers_the_same(single: Any) -> None:
    decision = single.decide(request(topic("t", 4), topic("u", 0), validate_only=True))

    assert decision.records == ()
    assert [(t.name, t.error_code, t.num_partitions) for t in decision.response.topics] == [
        ("t", 0, 4),
        ("u", ErrorCode.INVALID_PARTITIONS, -1),
    ]


def test_one_refused_topic_does_not_stop_the_others(single: Any) -> None:
    decision = single.decide(request(topic("t"), topic("bad name"), topic("u")))

    assert [r.name for r in decision.records if isinstance(r, mr.TopicRecord)] == ["t", "u"]


def test_a_name_asked_for_twice_is_refused_once(single: Any) -> None:
    decision = single.decide(request(topic("d1"), topic("d2"), topic("d1")))

    assert outcome(decision.response) == [("d2", 0, None), ("d1", 42, "Duplicate topic name.")]
    assert [r.name for r in decision.records if isinstance(r, mr.TopicRecord)] == ["d2"]


ILLEGAL = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (topic("base.topic"), 36, "Topic 'base.topic' already exists."),
        (topic("base_topic"), 17, "Topic 'base_topic' collides with existing topic: base.topic"),
        (topic(""), 17, "Topic name is invalid: the empty string is not allowed"),
        (topic("."), 17, "Topic name is invalid: '.' is not allowed"),
        (topic(".."), 17, "Topic name is invalid: '..' is not allowed"),
        (topic("a b"), 17, f"Topic name is invalid: 'a b' {ILLEGAL}"),
        (topic("é"), 17, f"Topic name is invalid: 'é' {ILLEGAL}"),
        (topic("a\n"), 17, f"Topic name is invalid: 'a\n' {ILLEGAL}"),
        (
            topic("a" * 250),
            17,
            (
                f"Topic name is invalid: the length of '{'a' * 250}' is longer than the max "
                "allowed length 249"
            ),
        ),
        (
            topic("__cluster_metadata"),
            42,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (topic("p", 0), 37, "Number of partitions was set to an invalid non-positive value."),
        (topic("p", -2), 37, "Number of partitions was set to an invalid non-positive value."),
        (
            topic("p", 1, 0),
            38,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("p", 0, -2),
            38,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("p", 1, 2),
            38,
            (
                "Unable to replicate the partition 2 time(s): The target replication factor of 2 "
                "cannot be reached because only 1 broker(s) are registered."
            ),
        ),
        (
            topic("p", 1, -1, on=[(0, [1])]),
            42,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            topic("p", -1, 1, on=[(0, [1])]),
            42,
            (
                "A manual partition assignment was specified, but replication factor was not set "
                "to -1."
            ),
        ),
        (
            topic("p", -1, -1, on=[(0, [1]), (0, [1])]),
            39,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            topic("p", -1, -1, on=[(0, [1]), (2, [1])]),
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            topic("p", -1, -1, on=[(1, [1])]),
            39,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            topic("p", -1, -1, on=[(0, [])]),
            39,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            topic("p", -1, -1, on=[(0, [9])]),
            39,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            topic("p", -1, -1, on=[(0, [-1])]),
            39,
            "The manual partition assignment includes broker -1, but no such broker is registered.",
        ),
        (
            topic("p", -1, -1, on=[(0, [1, 1])]),
            39,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (topic("p", config={"nope": "1"}), 40, "Unknown topic config name: nope"),
        (topic("p", 0, config={"nope": "1"}), 40, "Unknown topic config name: nope"),
        (
            topic("p", config={"retention.ms": None}),
            40,
            "Null value not supported for topic configs: retention.ms",
        ),
        (topic("p", 10_001), 44, "Excessively large number of partitions per request."),
    ],
    ids=lambda value: value.name[:12] if isinstance(value, CreatableTopic) else "",
)
def test_what_kafka_refuses_is_refused_in_its_words(
    single: Any, asked: CreatableTopic, code: int, message: str
) -> None:
    single.add_topic("base.topic", [1])

    assert single.decide(request(asked)) == Decision(
        response=CreateTopicsResponse(
            topics=[CreatableTopicResult(name=asked.name, error_code=code, error_message=message)]
        )
    )


@pytest.mark.parametrize(
    "config",
    [
        {"retention.ms": "abc"},
        {"segment.bytes": "1"},
        {"cleanup.policy": "x"},
        {"preallocate": "x"},
        {"min.insync.replicas": "0"},
        {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
        {"remote.storage.enable": "true"},
    ],
    ids=str,
)
def test_a_bad_value_is_invalid_config_and_the_message_names_it(
    single: Any, config: dict[str, str | None]
) -> None:
    decision = single.decide(request(topic("p", config=config)))

    ((_, code, message),) = outcome(decision.response)
    assert code == ErrorCode.INVALID_CONFIG
    assert message is not None
    assert next(iter(config)) in message
    assert decision.records == ()


def test_of_a_setting_given_twice_the_last_counts(single: Any) -> None:
    asked = topic("t")
    asked.configs = [CreatableTopicConfig(name="retention.ms", value=value) for value in ("1", "2")]

    single.do(request(asked))

    assert single.image.topic_config("t") == {"retention.ms": "2"}


def test_names_that_only_look_alike_may_be_made_in_one_request(single: Any) -> None:
    response = single.do(request(topic("x.y"), topic("x_y")))

    assert [code for _, code, _ in outcome(response)] == [0, 0]


def test_many_partitions_over_several_topics_are_too_many_too(single: Any) -> None:
    decision = single.decide(request(topic("p", 6_000), topic("q", 6_000)))

    assert [code for _, code, _ in outcome(decision.response)] == [44, 44]
    assert decision.records == ()


def test_ten_thousand_partitions_are_not_too_many(single: Any) -> None:
    single.do(request(topic("p", 10_000)))

    assert len(single.image.topics["p"].partitions) == 10_000


def test_partitions_go_where_the_request_says(trio: Any) -> None:
    trio.do(request(topic("t", -1, -1, on=[(1, [3, 2]), (0, [1, 3])])))

    assert [p.replicas for p in trio.image.topics["t"].partitions] == [(1, 3), (3, 2)]
    assert [p.leader for p in trio.image.topics["t"].partitions] == [1, 3]


def test_assigned_partitions_must_have_the_same_number_of_replicas(trio: Any) -> None:
    response = trio.do(request(topic("t", -1, -1, on=[(0, [1, 2]), (1, [3])])))

    assert outcome(response) == [
        (
            "t",
            39,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this "
                "is not consistent with previous partitions, which have 2 replica(s)."
            ),
        )
    ]


def test_a_fenced_replica_is_not_in_sync_and_does_not_lead(trio: Any) -> None:
    trio.replay(mr.FenceBrokerRecord(id=2, epoch=trio.image.brokers[2].epoch))

    trio.do(request(topic("t", -1, -1, on=[(0, [2, 3])])))

    assert trio.image.topics["t"].partitions[0].isr == (3,)
    assert trio.image.topics["t"].partitions[0].leader == 3


def test_without_an_active_broker_nothing_is_created(world: Any) -> None:
    world.add_broker(1, fenced=True)

    response = world.do(request(topic("t"), topic("u", -1, -1, on=[(0, [1])])))

    assert outcome(response) == [
        (
            "t",
            38,
            "Unable to replicate the partition 1 time(s): All brokers are currently fenced.",
        ),
        (
            "u",
            39,
            (
                "All brokers specified in the manual partition assignment for partition 0 are "
                "fenced or in controlled shutdown."
            ),
        ),
    ]


def test_a_broker_that_shuts_down_gets_no_new_partitions(single: Any) -> None:
    single.replay(
        mr.BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=single.image.brokers[1].epoch, in_controlled_shutdown=1
        )
    )

    assert outcome(single.do(request(topic("t")))) == [
        (
            "t",
            38,
            (
                "Unable to replicate the partition 1 time(s): All brokers are currently fenced or "
                "in controlled shutdown."
            ),
        )
    ]


def test_nothing_could_be_done_is_said_of_every_topic() -> None:
    response = decider.refuse(request(topic("a"), topic("b"), topic("a")), StorageFailed("full"))

    assert outcome(response) == [("a", 56, "full"), ("b", 56, "full")]


@pytest.mark.parametrize("version", range(2, 8))
def test_the_answer_fits_every_version(single: Any, version: int) -> None:
    response = single.decide(request(topic("t"), topic(""))).response

    decoded = CreateTopicsResponse.decode(response.encode(version), version)

    assert [t.error_code for t in decoded.topics] == [0, 17]

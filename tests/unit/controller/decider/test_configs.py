"""Codes and messages here were recorded from Apache Kafka 4.0 and 4.3, one broker with id 1."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.controller import decider
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages import incremental_alter_configs as incremental
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.metadata_records import ConfigRecord

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
Edit = tuple[str, int, str | None]
Asked = tuple[int, str, list[Edit]]


def edits(*asked: Asked, validate_only: bool = False) -> incremental.IncrementalAlterConfigsRequest:
    return incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental.AlterableConfig(name=n, config_operation=op, value=value)
                    for n, op, value in changes
                ],
            )
            for kind, name, changes in asked
        ],
        validate_only=validate_only,
    )


def whole(
    *asked: tuple[int, str, list[tuple[str, str | None]]], validate_only: bool = False
) -> legacy.AlterConfigsRequest:
    return legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[legacy.AlterableConfig(name=n, value=value) for n, value in settings],
            )
            for kind, name, settings in asked
        ],
        validate_only=validate_only,
    )


def record(name: str, value: str | None, kind: int = TOPIC, resource: str = "t") -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def answered(kind: int, name: str, code: int = 0, message: str | None = None) -> Any:
    return incremental.IncrementalAlterConfigsResponse(
        responses=[
            incremental.AlterConfigsResourceResponse(
                error_code=code, error_message=message, resource_type=kind, resource_name=name
            )
        ]
    )


@pytest.fixture
def cluster(single: Any) -> Any:
    single.add_topic("t", [1])
    return single


def test_settings_are_set_and_deleted(cluster: Any) -> None:
    cluster.replay(record("retention.ms", "1"), record("segment.ms", "2"))

    decision = cluster.decide(
        edits(
            (
                TOPIC,
                "t",
                [
                    ("retention.ms", DELETE, None),
                    ("segment.ms", SET, "3"),
                    ("max.message.bytes", SET, "4"),
                ],
            )
        )
    )

    assert decision == Decision(
        records=(
            record("retention.ms", None),
            record("segment.ms", "3"),
            record("max.message.bytes", "4"),
        ),
        response=answered(TOPIC, "t"),
    )


def test_a_setting_that_stays_what_it_is_makes_no_record(cluster: Any) -> None:
    cluster.replay(record("retention.ms", "1"))

    decision = cluster.decide(
        edits((TOPIC, "t", [("retention.ms", SET, "1"), ("segment.ms", DELETE, None)]))
    )

    assert decision == Decision(response=answered(TOPIC, "t"))


def test_a_list_starts_from_its_default_and_grows_and_shrinks(cluster: Any) -> None:
    def policy(operation: int, value: str) -> str | None:
        cluster.do(edits((TOPIC, "t", [("cleanup.policy", operation, value)])))
        found: str | None = cluster.image.topic_config("t").get("cleanup.policy")
        return found

    assert policy(SUBTRACT, "nope") == "delete"
    assert policy(APPEND, "compact") == "delete,compact"
    assert policy(APPEND, "compact,delete") == "delete,compact"
    assert policy(SUBTRACT, "delete") == "compact"


def test_checking_only_changes_nothing(cluster: Any) -> None:
    decision = cluster.decide(
        edits((TOPIC, "t", [("retention.ms", SET, "77")]), validate_only=True)
    )

    assert decision == Decision(response=answered(TOPIC, "t"))


def test_a_resource_is_changed_as_a_whole_or_not(cluster: Any) -> None:
    decision = cluster.decide(
        edits(
            (TOPIC, "t", [("retention.ms", SET, "5"), ("nope", SET, "1")]),
            (BROKER, "", [("log.retention.ms", SET, "9")]),
        )
    )

    assert decision.records == (record("log.retention.ms", "9", BROKER, ""),)
    assert [r.error_code for r in decision.response.responses] == [40, 0]


NAME = "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics"


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ((TOPIC, "no", [("retention.ms", SET, "1")]), 3, "The topic 'no' does not exist."),
        ((TOPIC, "a b", [("retention.ms", SET, "1")]), 17, f"{NAME}, '.', '_' and '-'"),
        ((TOPIC, "", [("retention.ms", SET, "1")]), 42, "Default topic resources are not allowed."),
        ((TOPIC, "t", [("nope", SET, "1")]), 40, "Unknown topic config name: nope"),
        (
            (TOPIC, "t", [("retention.ms", SET, None)]),
            42,
            "Null value not supported for : retention.ms",
        ),
        (
            (TOPIC, "t", [("cleanup.policy", APPEND, None)]),
            42,
            "Null value not supported for : cleanup.policy",
        ),
        (
            (TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)]),
            42,
            "Error due to duplicate config keys",
        ),
        (
            (TOPIC, "t", [("retention.ms", APPEND, "1")]),
            40,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            (TOPIC, "t", [("retention.ms", SUBTRACT, "1")]),
            40,
            "Can't SUBTRACT to key retention.ms because its type is not LIST.",
        ),
        (
            (TOPIC, "t", [("nope", APPEND, "1")]),
            40,
            "Can't APPEND to key nope because its type is not LIST.",
        ),
        ((TOPIC, "t", [("retention.ms", 9, "1")]), 42, "Unknown operation type 9"),
        (
            (BROKER, "1", [("log.dirs", SET, "/x")]),
            42,
            "Cannot update these configs dynamically: [log.dirs]",
        ),
        (
            (BROKER, "", [("node.id", SET, "3"), ("log.dirs", SET, "/x")]),
            42,
            "Cannot update these configs dynamically: [log.dirs, node.id]",
        ),
        (
            (BROKER, "", [("listener.security.protocol.map", SET, "A:PLAINTEXT")]),
            42,
            (
                "Cannot update these configs at default cluster level, broker id must be "
                "specified: [listener.security.protocol.map]"
            ),
        ),
        (
            (BROKER, "9", [("log.cleaner.threads", SET, "2")]),
            42,
            "Unexpected broker id, expected 1, but received 9",
        ),
        (
            (BROKER, "abc", [("log.cleaner.threads", SET, "2")]),
            42,
            "Node id must be an integer, but it is: abc",
        ),
        (
            (BROKER, "1", [("log.cleaner.threads", APPEND, "2")]),
            40,
            "Config value append is not allowed for config key: log.cleaner.threads",
        ),
        (
            (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")]),
            42,
            "Default group resources are not allowed.",
        ),
        ((GROUP, "g", [("foo", SET, "1")]), 40, "Unknown group config name: foo"),
        (
            (GROUP, "g", [("consumer.session.timeout.ms", SET, "1")]),
            40,
            (
                "consumer.session.timeout.ms must be greater than or equal to "
                "group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            (GROUP, "g", [("consumer.session.timeout.ms", APPEND, "1")]),
            40,
            "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST.",
        ),
        ((0, "x", [("a", SET, "1")]), 42, "Unknown resource type 0"),
        ((3, "x", [("a", SET, "1")]), 42, "Unknown resource type 3"),
    ],
)
def test_what_kafka_refuses_is_refused_in_its_words(
    cluster: Any, asked: Asked, code: int, message: str
) -> None:
    assert cluster.decide(edits(asked)) == Decision(
        response=answered(asked[0], asked[1], code, message)
    )


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ((TOPIC, "t", [("retention.ms", SET, "x")]), ErrorCode.INVALID_CONFIG),
        ((TOPIC, "t", [("cleanup.policy", APPEND, "zz")]), ErrorCode.INVALID_CONFIG),
        (
            (
                TOPIC,
                "t",
                [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "5")],
            ),
            ErrorCode.INVALID_CONFIG,
        ),
        ((BROKER, "1", [("log.cleaner.threads", SET, "x")]), ErrorCode.INVALID_REQUEST),
        ((BROKER, "", [("log.cleaner.threads", SET, "-1")]), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_a_bad_value_is_refused_and_the_message_names_the_setting(
    cluster: Any, asked: Asked, code: ErrorCode
) -> None:
    decision = cluster.decide(edits(asked))

    (response,) = decision.response.responses
    assert (decision.records, response.error_code) == ((), code)
    assert asked[2][0][0] in response.error_message


def test_a_new_value_is_checked_against_the_old_ones(cluster: Any) -> None:
    cluster.replay(record("max.compaction.lag.ms", "5"))

    decision = cluster.decide(edits((TOPIC, "t", [("min.compaction.lag.ms", SET, "9")])))

    assert decision.response.responses[0].error_code == ErrorCode.INVALID_CONFIG


def test_a_resource_named_twice_is_refused_both_times(cluster: Any) -> None:
    asked: Asked = (TOPIC, "t", [("retention.ms", SET, "1")])

    decision = cluster.decide(edits(asked, asked))

    assert decision.records == ()
    assert [r.error_message for r in decision.response.responses] == [
        "Each resource must appear at most once."
    ] * 2


def test_broker_settings_are_set_for_one_or_for_all(cluster: Any) -> None:
    cluster.do(
        edits(
            (BROKER, "1", [("log.cleaner.threads", SET, "2"), ("my.own", SET, "x")]),
            (BROKER, "", [("log.cleaner.threads", SET, "3")]),
        )
    )

    assert cluster.image.config(BROKER, "1") == {"log.cleaner.threads": "2", "my.own": "x"}
    assert cluster.image.config(BROKER, "") == {"log.cleaner.threads": "3"}


def test_a_group_need_not_exist_to_have_settings(cluster: Any) -> None:
    name = "consumer.session.timeout.ms"
    cluster.do(edits((GROUP, "any group", [(name, SET, "50000"), ("unknown", DELETE, None)])))

    assert cluster.image.config(GROUP, "any group") == {name: "50000"}
    cluster.do(whole((GROUP, "any group", [("share.isolation.level", "read_committed")])))
    assert cluster.image.config(GROUP, "any group") == {"share.isolation.level": "read_committed"}


def test_a_setting_from_a_later_release_does_not_block_other_changes(cluster: Any) -> None:
    cluster.replay(record("from.the.future", "x"))

    cluster.do(edits((TOPIC, "t", [("retention.ms", SET, "5")])))

    assert cluster.image.topic_config("t") == {"from.the.future": "x", "retention.ms": "5"}
    cluster.do(edits((TOPIC, "t", [("from.the.future", DELETE, None)])))
    assert cluster.image.topic_config("t") == {"retention.ms": "5"}


def test_the_old_request_replaces_everything(cluster: Any) -> None:
    cluster.replay(record("retention.ms", "1"), record("segment.ms", "2"))

    decision = cluster.decide(whole((TOPIC, "t", [("segment.ms", "2"), ("flush.ms", "3")])))

    assert decision == Decision(
        records=(record("retention.ms", None), record("flush.ms", "3")),
        response=legacy.AlterConfigsResponse(
            responses=[
                legacy.AlterConfigsResourceResponse(
                    error_message=None, resource_type=TOPIC, resource_name="t"
                )
            ]
        ),
    )


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ([("retention.ms", None)], 42, "Null value not supported for : retention.ms"),
        ([("a", "1"), ("a", "2")], 42, "Error due to duplicate config keys"),
        ([("nope", "1")], 40, "Unknown topic config name: nope"),
    ],
)
def test_the_old_request_is_refused_like_the_new_one(
    cluster: Any, settings: list[tuple[str, str | None]], code: int, message: str
) -> None:
    decision = cluster.decide(whole((TOPIC, "t", settings)))

    (response,) = decision.response.responses
    assert (decision.records, response.error_code, response.error_message) == ((), code, message)


def test_the_old_request_can_only_check(cluster: Any) -> None:
    decision = cluster.decide(whole((TOPIC, "t", [("flush.ms", "3")]), validate_only=True))

    assert decision.records == ()
    assert decision.response.responses[0].error_code == 0


def test_nothing_could_be_done_is_said_of_every_resource() -> None:
    error = StorageFailed("full")

    new: Any = decider.refuse(edits((TOPIC, "a", []), (BROKER, "", [])), error)
    old: Any = decider.refuse(whole((TOPIC, "a", []), (BROKER, "", [])), error)

    for response in (new, old):
        assert [
            (r.resource_type, r.resource_name, r.error_code, r.error_message)
            for r in response.responses
        ] == [(TOPIC, "a", 56, "full"), (BROKER, "", 56, "full")]


# Settings that decide who leads


def leaderless(trio: Any) -> bytes:
    """A partition whose only replica in sync is away."""
    t: bytes = trio.add_topic("t", [1, 2], isr=[1])
    trio.replay(
        mr.PartitionChangeRecord(partition_id=0, topic_id=t, leader=-1),
        mr.BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=trio.image.brokers[1].epoch, fenced=1
        ),
    )
    return t


@pytest.mark.parametrize("resource", [(TOPIC, "t"), (BROKER, "")])
def test_a_topic_that_allows_unclean_leaders_gets_one_at_once(
    trio: Any, resource: tuple[int, str]
) -> None:
    t = leaderless(trio)
    kind, name = resource
    unclean = "unclean.leader.election.enable"

    decision = trio.decide(edits((kind, name, [(unclean, 0, "true")])))

    assert decision.records == (
        record(unclean, "true", kind, name),
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=t, leader=2, isr=[2], leader_recovery_state=1
        ),
    )


def test_checking_only_elects_nobody(trio: Any) -> None:
    leaderless(trio)
    asked = edits((TOPIC, "t", [("unclean.leader.election.enable", 0, "true")]), validate_only=True)

    assert trio.decide(asked).records == ()


def eligible(trio: Any) -> None:
    trio.add_topic("t", [1, 2, 3], isr=[1])
    trio.replay(
        mr.FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        record("min.insync.replicas", "2", BROKER, ""),
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=b"t".ljust(16, b"\0"), eligible_leader_replicas=[2]
        ),
    )


@pytest.mark.parametrize(("minimum", "left"), [("1", ()), ("3", (2,))])
def test_a_lower_minimum_isr_ends_eligibility(trio: Any, minimum: str, left: Any) -> None:
    eligible(trio)

    trio.do(edits((TOPIC, "t", [("min.insync.replicas", 0, minimum)])))

    assert trio.image.partition("t", 0).elr == left


@pytest.mark.parametrize(
    ("name", "operation", "value", "message"),
    [
        ("1", 0, "1", "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
        ("", 1, None, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
    ],
)
def test_brokers_and_controller_agree_about_the_minimum_isr(
    trio: Any, name: str, operation: int, value: str | None, message: str
) -> None:
    eligible(trio)

    response = trio.do(edits((BROKER, name, [("min.insync.replicas", operation, value)])))

    assert response == answered(BROKER, name, ErrorCode.INVALID_CONFIG, message)

"""A topic's settings over the broker's, and what is not valid."""

from __future__ import annotations

import pytest

from barnabas.base.errors import ErrorCode, code_for
from barnabas.base.settings import (
    TOPIC_SETTINGS,
    BrokerConfig,
    ConfigError,
    Source,
    TopicConfig,
    describe_topic,
    resolve_topic,
    topic_defaults,
    validate_topic_config,
    validate_topic_configs,
)

PLAIN = BrokerConfig.from_properties()


def test_the_defaults_of_the_class_are_those_of_a_broker_without_settings() -> None:
    assert topic_defaults(PLAIN) == TopicConfig()
    for name, setting in TOPIC_SETTINGS.items():
        assert getattr(TopicConfig(), name.replace(".", "_")) == setting.default


def test_a_topic_without_settings_shares_the_brokers_defaults() -> None:
    assert resolve_topic(PLAIN, {}) is topic_defaults(PLAIN)


def test_a_topics_own_settings_go_before_the_brokers() -> None:
    broker = BrokerConfig.from_properties({"log.retention.hours": "1", "log.cleanup.policy": ""})
    broker = broker.with_dynamic({"log.segment.bytes": "2097152"}, {})

    topic = resolve_topic(broker, {"retention.ms": "5", "cleanup.policy": "compact"})

    assert topic.retention_ms == 5
    assert topic.segment_bytes == 2097152
    assert topic.is_compacted
    assert not topic.is_deleted
    assert resolve_topic(broker, {}).retention_ms == 3_600_000
    assert not resolve_topic(broker, {}).is_deleted


def test_a_changed_broker_setting_reaches_topics() -> None:
    assert resolve_topic(PLAIN, {}).max_message_bytes == 1048588

    changed = PLAIN.with_dynamic({"message.max.bytes": "7"}, {})

    assert resolve_topic(changed, {}).max_message_bytes == 7
    assert resolve_topic(PLAIN, {}).max_message_bytes == 1048588


def test_the_internal_segment_size_replaces_the_other() -> None:
    topic = resolve_topic(PLAIN, {"segment.bytes": "2097152", "internal.segment.bytes": "100"})

    assert topic.segment_bytes == 100


def test_a_stored_name_that_is_not_declared_is_passed_over() -> None:
    assert resolve_topic(PLAIN, {"from.the.future": "1", "retention.ms": "5"}).retention_ms == 5


def test_one_setting_is_validated_to_its_value() -> None:
    assert validate_topic_config("retention.ms", " 5 ") == 5
    assert validate_topic_config("cleanup.policy", "compact , delete") == ("compact", "delete")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"bogus": "1"}, "no topic setting called bogus"),
        ({"log.retention.ms": "1"}, "no topic setting called log.retention.ms"),
        ({"min.insync.replicas": "0"}, "must be at least 1"),
        ({"retention.ms": "-2"}, "must be at least -1"),
        ({"segment.bytes": "100"}, "must be at least 1048576"),
        ({"cleanup.policy": "purge"}, "each item must be one of compact, delete"),
        ({"max.compaction.lag.ms": "0"}, "must be at least 1"),
        ({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"}, "which is less"),
        ({"message.timestamp.type": "createtime"}, "must be one of CreateTime, LogAppendTime"),
        ({"remote.storage.enable": "true"}, "tiered storage is off"),
    ],
)
def test_what_is_not_valid_is_refused_as_an_invalid_config(
    overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        validate_topic_configs(PLAIN, overrides)

    assert code_for(caught.value) is ErrorCode.INVALID_CONFIG


def test_a_lag_is_checked_against_the_brokers_too() -> None:
    broker = BrokerConfig.from_properties({"log.cleaner.max.compaction.lag.ms": "10"})

    with pytest.raises(ConfigError, match=r"max\.compaction\.lag\.ms is 10"):
        validate_topic_configs(broker, {"min.compaction.lag.ms": "11"})
    assert validate_topic_configs(broker, {"min.compaction.lag.ms": "10"})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"cleanup.policy": "compact"}, "cleanup.policy must be delete alone"),
        ({"retention.ms": "5", "local.retention.ms": "6"}, "local.retention.ms: must not exceed"),
        ({"retention.ms": "5", "local.retention.ms": "-1"}, "local.retention.ms: must not exceed"),
        ({"retention.bytes": "5", "local.retention.bytes": "6"}, "must not exceed retention.bytes"),
    ],
)
def test_tiered_topics_keep_no_more_here_than_altogether(
    overrides: dict[str, str], message: str
) -> None:
    broker = BrokerConfig.from_properties({"remote.log.storage.system.enable": "true"})
    tiered = {"remote.storage.enable": "true"}

    assert validate_topic_configs(broker, tiered).remote_storage_enable
    with pytest.raises(ConfigError, match=message):
        validate_topic_configs(broker, tiered | overrides)


def test_a_description_can_be_asked_for_by_name_and_leaves_out_unknown_names() -> None:
    found = describe_topic(PLAIN, {"retention.ms": "5"}, ["retention.ms", "bogus", "segment.ms"])

    assert [(one.name, one.value, one.source) for one in found] == [
        ("retention.ms", "5", Source.DYNAMIC_TOPIC),
        ("segment.ms", "604800000", Source.DEFAULT),
    ]


def test_internal_settings_are_described_only_when_set() -> None:
    name = "internal.segment.bytes"

    assert describe_topic(PLAIN, {}, [name]) == []
    assert describe_topic(PLAIN, {name: "100"}, [name])[0].value == "100"

"""A group's settings over the broker's, within the broker's limits."""

from __future__ import annotations

import pytest

from barnabas.base.settings import (
    BROKER_SETTINGS,
    GROUP_SETTINGS,
    BrokerConfig,
    ConfigError,
    Source,
    describe_group,
    group_int,
    validate_group_configs,
)
from barnabas.base.settings.groups import group_default_name, group_limit_name

PLAIN = BrokerConfig.from_properties()
SESSION = "consumer.session.timeout.ms"
BEAT = "consumer.heartbeat.interval.ms"


def test_the_defaults_and_kinds_are_those_of_the_broker_settings_behind_them() -> None:
    for name, setting in GROUP_SETTINGS.items():
        default = group_default_name(name)
        if default is not None:
            assert BROKER_SETTINGS[default].default == setting.default
            assert BROKER_SETTINGS[default].kind.rule == setting.kind.rule


def test_most_settings_have_limits() -> None:
    def limits(name: str) -> tuple[str | None, str | None]:
        return group_limit_name(name, "min"), group_limit_name(name, "max")

    assert limits(SESSION) == (
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    )
    assert limits("streams.num.standby.replicas") == (None, "group.streams.max.standby.replicas")
    assert limits("share.partition.max.record.locks") == (
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    )
    assert {name for name in GROUP_SETTINGS if limits(name) == (None, None)} == {
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
        "streams.initial.rebalance.delay.ms",
    }


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            SESSION,
            "44999",
            (
                "consumer.session.timeout.ms must be greater than or equal to "
                "group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            BEAT,
            "15001",
            (
                "consumer.heartbeat.interval.ms must be less than or equal to "
                "group.consumer.max.heartbeat.interval.ms"
            ),
        ),
        (SESSION, "0", "Invalid value 0 for consumer.session.timeout.ms: must be at least 1."),
        (
            "share.auto.offset.reset",
            "by_duration:P",
            (
                "Invalid value by_duration:P for share.auto.offset.reset: "
                "must be earliest, latest or by_duration:<PnDTnHnMn.nS>."
            ),
        ),
    ],
)
def test_values_that_a_group_may_not_have(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_group_configs(PLAIN, {name: text})

    assert caught.value.message == reason


@pytest.mark.parametrize(
    "text", ["earliest", "latest", "by_duration:P1DT2H3M4.5S", "by_duration:PT0S"]
)
def test_where_a_share_group_may_begin(text: str) -> None:
    validate_group_configs(PLAIN, {"share.auto.offset.reset": text})


def test_a_session_must_be_longer_than_the_interval_of_heartbeats() -> None:
    config = BrokerConfig.from_properties({"group.consumer.min.session.timeout.ms": "1000"})

    validate_group_configs(config, {SESSION: "5001"})
    with pytest.raises(ConfigError, match=f"{SESSION} must be greater than {BEAT}"):
        validate_group_configs(config, {SESSION: "5000"})
    with pytest.raises(ConfigError, match=f"{SESSION} must be greater than {BEAT}"):
        validate_group_configs(config, {SESSION: "6000", BEAT: "7000"})


def test_a_group_goes_by_its_own_value_then_by_the_brokers() -> None:
    config = BrokerConfig.from_properties({"group.consumer.heartbeat.interval.ms": "6000"})

    assert group_int(config, {BEAT: "7000"}, BEAT) == 7000
    assert group_int(config, {}, BEAT) == 6000


def test_limits_that_changed_since_are_kept_to() -> None:
    assert group_int(PLAIN, {SESSION: "1"}, SESSION) == 45_000
    assert group_int(PLAIN, {SESSION: "90000"}, SESSION) == 60_000


def test_a_value_that_cannot_be_read_is_passed_over() -> None:
    assert group_int(PLAIN, {SESSION: "soon"}, SESSION) == 45_000


def test_what_a_group_is_described_by() -> None:
    config = BrokerConfig.from_properties({"group.consumer.session.timeout.ms": "46000"})
    own, other = describe_group(config, {SESSION: "50000"}, [SESSION, BEAT, "foo"])

    assert (own.value, own.source) == ("50000", Source.DYNAMIC_GROUP)
    assert [(s.name, s.value, s.source) for s in own.synonyms] == [
        (SESSION, "50000", Source.DYNAMIC_GROUP),
        ("group.consumer.session.timeout.ms", "46000", Source.STATIC_BROKER),
        ("group.consumer.session.timeout.ms", "45000", Source.DEFAULT),
    ]
    assert (other.value, other.source, other.read_only) == ("5000", Source.DEFAULT, False)
    assert [d.name for d in describe_group(PLAIN, {})] == list(GROUP_SETTINGS)

"""What may be changed while brokers run: the same that Apache Kafka lets be changed."""

from __future__ import annotations

import pytest

from barnabas.base.errors import InvalidRequest
from barnabas.base.settings import BROKER_SETTINGS, ConfigError, Update, validate_dynamic


def test_dynamic_settings_are_taken_for_one_broker_and_for_all() -> None:
    for all_brokers in (True, False):
        validate_dynamic(
            {"log.segment.bytes": "2097152", "leader.replication.throttled.rate": "5"},
            all_brokers=all_brokers,
        )


@pytest.mark.parametrize("name", ["num.partitions", "log.retention.hours", "node.id"])
def test_a_setting_that_needs_a_restart_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{name} can only be changed by a restart"):
        validate_dynamic({name: "3"}, all_brokers=False)


def test_key_stores_are_changed_for_a_listener_only() -> None:
    name = "ssl.keystore.password"

    with pytest.raises(InvalidRequest, match="for a listener") as caught:
        validate_dynamic({name: "hush"}, all_brokers=False)
    assert "hush" not in str(caught.value)
    validate_dynamic({f"listener.name.a.{name}": "hush"}, all_brokers=False)


@pytest.mark.parametrize("name", ["listeners", "listener.name.a.ssl.keystore.location"])
def test_what_belongs_to_one_broker_is_not_set_for_all(name: str) -> None:
    validate_dynamic({name: "PLAINTEXT://:1"}, all_brokers=False)
    with pytest.raises(InvalidRequest, match="for one broker, not for all"):
        validate_dynamic({name: "PLAINTEXT://:1"}, all_brokers=True)


def test_a_bad_value_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value x for max\.connections"):
        validate_dynamic({"max.connections": "x"}, all_brokers=True)
    with pytest.raises(ConfigError, match=r"Invalid value x for max\.connections"):
        validate_dynamic({"listener.name.a.max.connections": "x"}, all_brokers=False)


def test_an_unknown_name_is_let_through() -> None:
    validate_dynamic({"unknown.thing": "5"}, all_brokers=True)


def test_every_offending_name_is_in_the_message() -> None:
    with pytest.raises(InvalidRequest, match=r"^broker\.id, num\.partitions can"):
        validate_dynamic({"num.partitions": "1", "broker.id": "1"}, all_brokers=False)


def test_time_units_of_a_family_are_not_all_dynamic() -> None:
    dynamic = {name for name, s in BROKER_SETTINGS.items() if s.update is not Update.READ_ONLY}

    assert {"log.retention.ms", "log.roll.ms", "log.roll.jitter.ms"} <= dynamic
    assert not {"log.retention.hours", "log.retention.minutes", "log.roll.hours"} & dynamic

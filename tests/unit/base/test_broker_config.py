"""Layers of broker settings, old names, units of time, and what is said about mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.base.properties import load_properties
from barnabas.base.settings import BrokerConfig, ConfigError, ConfigType, Source


def config(**settings: str) -> BrokerConfig:
    """Settings by keyword, with underscores for dots."""
    return BrokerConfig.from_properties({k.replace("_", "."): v for k, v in settings.items()})


def test_without_a_file_a_node_is_broker_and_controller_number_1() -> None:
    plain = BrokerConfig.from_properties()

    assert plain.node_id == plain.int("node.id") == 1
    assert plain.list("process.roles") == ("broker", "controller")
    assert plain.warnings == plain.problems == ()


def test_getters_answer_in_the_declared_type() -> None:
    given = config(
        log_cleaner_min_cleanable_ratio="0.25",
        broker_rack="r1",
        auto_create_topics_enable="false",
        log_dirs="a, b",
        max_connections_per_ip_overrides="a:1, b:2",
    )

    assert given["num.partitions"] == given.int("num.partitions") == 1
    assert given.float("log.cleaner.min.cleanable.ratio") == 0.25
    assert given.bool("auto.create.topics.enable") is False
    assert given.str("broker.rack") == given.optional_str("broker.rack") == "r1"
    assert given.optional_str("replica.selector.class") is None
    assert given.optional_int("log.retention.ms") is None
    assert given.list("log.dirs") == given.log_dirs == ("a", "b")
    assert given.list("max.connections.per.ip.overrides") == ("a:1", "b:2")
    assert given.list("early.start.listeners") == ()


def test_a_name_that_is_not_declared_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        config().int("no.such.setting")


def test_a_getter_of_the_wrong_type_fails() -> None:
    with pytest.raises(AssertionError, match=r"log\.dirs is None"):
        config().str("log.dirs")


@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        ({}, 168 * 3_600_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        (
            {"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"},
            4,
        ),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.ms": "-5"}, -1),
        ({"log.retention.hours": "600000"}, 600_000 * 3_600_000),
    ],
)
def test_of_the_retention_times_the_finest_unit_counts(
    settings: dict[str, str], retention_ms: int
) -> None:
    assert BrokerConfig.from_properties(settings).retention_ms == retention_ms


def test_of_the_other_families_the_finest_unit_counts_too() -> None:
    coarse = config(log_roll_hours="2", log_roll_jitter_hours="1")
    fine = config(log_roll_hours="2", log_roll_ms="5", log_roll_jitter_ms="6")

    assert (coarse.roll_ms, coarse.roll_jitter_ms) == (7_200_000, 3_600_000)
    assert (fine.roll_ms, fine.roll_jitter_ms) == (5, 6)
    assert config(log_flush_scheduler_interval_ms="9").flush_ms == 9
    assert config(log_flush_scheduler_interval_ms="9", log_flush_interval_ms="8").flush_ms == 8


def test_a_dynamic_setting_for_a_family_silences_the_files_other_units() -> None:
    given = config(log_retention_minutes="50").with_dynamic({"log.retention.ms": "77"}, {})

    assert given.retention_ms == 77
    assert given["log.retention.minutes"] is None


def test_directories_fall_back_to_older_and_to_the_first() -> None:
    assert config().log_dirs == ("/tmp/kafka-logs",)
    assert config(log_dir="x").log_dirs == ("x",)
    assert config(log_dir="x", log_dirs="y,z").log_dirs == ("y", "z")
    assert config(log_dirs="y,z").metadata_log_dir == "y"
    assert config(log_dirs="y,z", metadata_log_dir="m").metadata_log_dir == "m"


@pytest.mark.parametrize(
    ("settings", "node_id"),
    [
        ({"broker.id": "7"}, 7),
        ({"node.id": "8"}, 8),
        ({"broker.id": "7", "node.id": "8"}, 8),
    ],
)
def test_node_id_and_broker_id_are_one(settings: dict[str, str], node_id: int) -> None:
    given = BrokerConfig.from_properties(settings)

    assert given.node_id == given.int("broker.id") == given.int("node.id") == node_id


def test_old_names_of_addresses_become_listeners() -> None:
    old = BrokerConfig.from_properties(
        {"host.name": "::1", "port": "9999", "advertised.host.name": "example"}
    )
    both = BrokerConfig.from_properties({"port": "1", "listeners": "PLAINTEXT://a:2"})

    assert old.list("listeners") == ("PLAINTEXT://[::1]:9999",)
    assert old.list("advertised.listeners") == ("PLAINTEXT://example:9092",)
    assert len(old.warnings) == 2
    assert both.list("listeners") == ("PLAINTEXT://a:2",)


def test_other_old_names_are_carried_over_unless_the_new_one_is_there() -> None:
    given = BrokerConfig.from_properties(
        {
            "log.message.timestamp.difference.max.ms": "5",
            "log.message.timestamp.after.max.ms": "6",
            "delegation.token.master.key": "hush",
        }
    )

    assert given.int("log.message.timestamp.before.max.ms") == 5
    assert given.int("log.message.timestamp.after.max.ms") == 6
    assert given.str("delegation.token.secret.key") == "hush"
    assert not [line for line in given.warnings if "hush" in line]


def test_unknown_and_retired_names_are_warnings_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("inter.broker.protocol.version=3.9\nzookeeper.ssl.protocol=x\nnum.patritions=3")

    given = BrokerConfig.from_properties(
        load_properties(file), file="server.properties", overrides={"x": "1"}
    )

    retired = "is not used any more"
    assert [line.partition(": ")[0] for line in given.warnings] == [
        "server.properties, line 1",
        "server.properties, line 2",
        "server.properties, line 3",
        "override",
    ]
    assert f"inter.broker.protocol.version {retired}: there is one" in given.warnings[0]
    assert f"zookeeper.ssl.protocol {retired}: the connection to ZooKeeper" in given.warnings[1]
    assert given.warnings[2].endswith(": num.patritions is not a setting that is known.")


def test_settings_of_plug_ins_and_listeners_are_no_warnings() -> None:
    given = BrokerConfig.from_properties(
        {
            "rsm.config.a": "1",
            "metrics.context.x": "1",
            "listener.name.a.max.connections": "1",
            "listener.name.a.plain.sasl.jaas.config": "1",
        }
    )

    assert given.warnings == ()


def test_a_bad_value_names_file_line_setting_and_value(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("# a broker\nnum.partitions = none\n")

    with pytest.raises(ConfigError) as caught:
        BrokerConfig.from_properties(load_properties(file), file="server.properties")

    assert str(caught.value) == (
        "server.properties, line 2: Invalid value none for num.partitions: must be a whole number."
    )


def test_the_command_line_goes_before_the_file_and_is_named_in_errors() -> None:
    file = {"num.partitions": "x"}

    assert BrokerConfig.from_properties(file, overrides={"num.partitions": "3"}).int(
        "num.partitions"
    )
    with pytest.raises(ConfigError, match=r"^override: Invalid value -1 for num.partitions"):
        BrokerConfig.from_properties(overrides={"num.partitions": "-1"})


def test_a_bad_value_of_a_listener_is_found_too() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value x for max\.connections"):
        BrokerConfig.from_properties({"listener.name.a.max.connections": "x"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log.retention.ms": "0"}, "must be above 0, or -1"),
        ({"log.roll.ms": "0"}, "log.roll.ms: must be at least 1"),
        (
            {"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"},
            "must not exceed",
        ),
        ({"listeners": "A://:1"}, "says nothing of A"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerConfig.from_properties(settings)


def test_layers_go_broker_then_cluster_then_file_then_default() -> None:
    name = "message.max.bytes"
    given = config(message_max_bytes="1")

    seen = [
        given,
        given.with_dynamic({name: "2"}, {}),
        given.with_dynamic({name: "2"}, {name: "3"}),
    ]

    assert [layered.int(name) for layered in seen] == [1, 2, 3]
    assert seen[2].with_dynamic({}, {}).int(name) == 1
    assert config().int(name) == 1048588
    assert [synonym[1:] for synonym in seen[2].describe(name).synonyms] == [
        ("3", Source.DYNAMIC_BROKER),
        ("2", Source.DYNAMIC_DEFAULT_BROKER),
        ("1", Source.STATIC_BROKER),
        ("1048588", Source.DEFAULT),
    ]


def test_a_dynamic_value_that_cannot_be_used_is_passed_over_and_named() -> None:
    given = config(message_max_bytes="1").with_dynamic({"message.max.bytes": "many"}, {})

    assert given.int("message.max.bytes") == 1
    assert given.problems == ("Invalid value many for message.max.bytes: must be a whole number.",)


def test_a_listener_may_have_a_value_of_its_own() -> None:
    given = BrokerConfig.from_properties(
        {"max.connections": "9", "listener.name.inside.max.connections": "5"}
    )

    assert given.of_listener("INSIDE", "max.connections") == 5
    assert given.of_listener("OUTSIDE", "max.connections") == 9
    again = given.with_dynamic({}, {"listener.name.inside.max.connections": "4"})
    assert again.of_listener("INSIDE", "max.connections") == 4
    assert again.int("max.connections") == 9


def test_secrets_and_unknown_settings_are_never_shown() -> None:
    given = config(ssl_keystore_password="hush", something_unknown="quiet")

    for name in ("ssl.keystore.password", "something.unknown"):
        described = given.describe(name)
        assert described.sensitive
        assert described.value is None
        assert [synonym.value for synonym in described.synonyms] == [None]
    assert given.describe("something.unknown").type is ConfigType.UNKNOWN
    assert given.describe("something.unknown").doc is None
    assert "hush" not in repr(given)
    assert "hush" not in repr(given["ssl.keystore.password"])


def test_internal_settings_are_listed_only_when_set() -> None:
    name = "log.initial.task.delay.ms"

    assert name not in config().described_names()
    assert name in config(log_initial_task_delay_ms="1").described_names()
    assert config().describe(name).value == "30000"


# Roles.

PLACES = {"controller.listener.names": "CONTROLLER"}


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"process.roles": "broker", "listeners": "PLAINTEXT://:1"},
            "needs to be told where the controller is",
        ),
        (
            {"process.roles": "controller", "listeners": "PLAINTEXT://:1"},
            "a controller needs one that controller.listener.names names",
        ),
        (
            {"process.roles": "broker", "listeners": "CONTROLLER://:1"},
            "a broker needs one that is not a controller's",
        ),
    ],
    ids=["nowhere", "no listener for brokers", "no listener for clients"],
)
def test_a_role_without_what_it_needs_is_refused(settings: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        BrokerConfig.from_properties(PLACES | settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"process.roles": "controller", "listeners": "CONTROLLER://:1"},
        {"process.roles": "broker", "controller.quorum.bootstrap.servers": "here:1"},
        {"process.roles": "broker", "controller.quorum.voters": "3000@here:1"},
        {"process.roles": "broker", "zookeeper.connect": "here:2181"},
        {"listeners": "PLAINTEXT://:1,CONTROLLER://:2"},
    ],
)
def test_a_role_with_what_it_needs_is_fine(settings: dict[str, str]) -> None:
    BrokerConfig.from_properties(PLACES | settings)


def test_with_zookeeper_every_node_is_a_broker_and_controllers_have_no_listeners() -> None:
    given = {"node.id": "1", "zookeeper.connect": "zk:2181/kafka"}
    BrokerConfig.from_properties(given)
    BrokerConfig.from_properties({**given, "process.roles": "broker"})
    with pytest.raises(ConfigError, match=r"process\.roles"):
        BrokerConfig.from_properties({**given, "process.roles": "controller"})
    with pytest.raises(ConfigError, match=r"controller\.listener\.names"):
        BrokerConfig.from_properties(
            {
                **given,
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
                "controller.listener.names": "CONTROLLER",
            }
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("controller.quorum.bootstrap.servers", "here:9093"),
        ("controller.quorum.voters", "3000@here:9093"),
    ],
)
@pytest.mark.parametrize("roles", [{}, {"process.roles": "broker"}])
def test_a_controller_is_not_looked_for_in_two_ways(
    name: str, value: str, roles: dict[str, str]
) -> None:
    given = {"node.id": "1", "zookeeper.connect": "zk:2181/kafka", name: value}
    with pytest.raises(ConfigError, match=rf"zookeeper\.connect and {re.escape(name)}") as refused:
        BrokerConfig.from_properties(given | roles)
    assert "\n" not in str(refused.value)

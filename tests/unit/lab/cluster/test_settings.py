"""Nodes listen on ports of their own and tell others those of the gates."""

from __future__ import annotations

from pathlib import Path

from barnabas.base.properties import load_properties
from barnabas.base.settings import BrokerConfig
from barnabas.lab.cluster.settings import (
    common_settings,
    controller_settings,
    listener_settings,
    place_settings,
    properties_text,
)

PORTS = listener_settings(clients=1, clients_gate=2, brokers=3, brokers_gate=4)


def test_a_broker_is_reached_through_its_gates_alone() -> None:
    place = place_settings(2, controller_gate=5, zookeeper_gate=None)
    config = BrokerConfig.from_properties({**common_settings(3), **PORTS, **place})

    listeners = config.listeners()
    assert [each.port for each in listeners.broker] == [1, 3]
    assert [each.port for each in listeners.advertised] == [2, 4]
    assert listeners.inter_broker == "BROKERS"
    assert config.list("process.roles") == ("broker",)
    assert config.node_id == 2


def test_one_broker_is_its_own_controller() -> None:
    place = place_settings(1, controller_gate=None, zookeeper_gate=None)
    config = BrokerConfig.from_properties({**common_settings(1), **PORTS, **place})

    assert config.list("process.roles") == ("broker", "controller")
    assert config.int("offsets.topic.replication.factor") == 1


def test_with_zookeeper_nobody_is_told_where_the_controller_is() -> None:
    place = place_settings(1, controller_gate=None, zookeeper_gate=6)
    config = BrokerConfig.from_properties({**common_settings(3), **PORTS, **place})

    assert config.str("zookeeper.connect") == "127.0.0.1:6/lab"


def test_the_controller_is_only_that() -> None:
    config = BrokerConfig.from_properties({**common_settings(3), **controller_settings(7)})

    assert config.list("process.roles") == ("controller",)
    assert [each.port for each in config.listeners().controller] == [7]


def test_a_properties_file_gives_back_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "broker.properties"
    file.write_text(properties_text({"log.dirs": r"C:\data", "a": "b=c"}))

    found = {key: each.value for key, each in load_properties(str(file)).items()}
    assert found == {"log.dirs": r"C:\data", "a": "b=c"}

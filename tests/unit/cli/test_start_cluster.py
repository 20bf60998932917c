"""What each process of `barnabas start --brokers N` is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli import start
from barnabas.cli.command import CommandError
from barnabas.cli.options import UsageError, parse
from barnabas.cli.start_cluster import Part, Wanted, broker_part, controller_part, run_cluster


def settings(part: Part) -> dict[str, str]:
    """The overrides."""
    pairs = zip(part.arguments, part.arguments[1:], strict=False)
    return dict(value.split("=", 1) for option, value in pairs if option == "--override")


WANTED = Wanted(brokers=3, data_dir="/data", listen="localhost:9092")


def test_brokers_have_consecutive_ports_ids_and_directories() -> None:
    found = [settings(broker_part(WANTED, number, "localhost:9095")) for number in range(3)]

    assert [one["node.id"] for one in found] == ["0", "1", "2"]
    assert [one["listeners"] for one in found] == [
        f"PLAINTEXT://localhost:{port}" for port in (9092, 9093, 9094)
    ]
    assert [one["log.dirs"] for one in found] == [f"/data/broker-{n}" for n in range(3)]
    assert {one["process.roles"] for one in found} == {"broker"}
    assert {one["controller.quorum.bootstrap.servers"] for one in found} == {"localhost:9095"}


def test_the_controller_is_behind_the_ports_of_the_brokers() -> None:
    found = settings(controller_part(WANTED))

    assert found["listeners"] == "CONTROLLER://localhost:9095"
    assert found["controller.listener.names"] == "CONTROLLER"
    assert found["process.roles"] == "controller"
    assert found["log.dirs"] == "/data/controller"


def test_free_ports_are_free_ports_for_all() -> None:
    wanted = Wanted(brokers=2, data_dir="/data", listen="127.0.0.1:0")

    assert settings(broker_part(wanted, 1, "h:1"))["listeners"] == "PLAINTEXT://127.0.0.1:0"
    assert settings(controller_part(wanted))["listeners"] == "CONTROLLER://127.0.0.1:0"


def test_the_file_the_level_and_other_settings_are_for_every_process() -> None:
    wanted = Wanted(
        brokers=1,
        data_dir="/data",
        listen="localhost:9092",
        config="server.properties",
        overrides={"num.partitions": "3"},
        log_level="debug",
    )

    for part in (controller_part(wanted), broker_part(wanted, 0, "h:1")):
        assert part.arguments[:4] == ("--log-level", "debug", "--config", "server.properties")
        assert settings(part)["num.partitions"] == "3"


@pytest.mark.parametrize("name", ["node.id", "listeners", "log.dirs", "process.roles"])
def test_a_setting_that_differs_from_broker_to_broker_is_refused(name: str) -> None:
    wanted = Wanted(brokers=1, data_dir="/d", listen="localhost:9092", overrides={name: "1"})

    with pytest.raises(UsageError, match=f"--override {name} is for one broker"):
        controller_part(wanted)


@pytest.mark.parametrize("listen", ["PLAINTEXT://localhost:9092", "localhost", "localhost:x"])
def test_where_the_first_broker_listens_is_host_and_port(listen: str) -> None:
    with pytest.raises(UsageError, match="is not host:port"):
        controller_part(Wanted(brokers=1, data_dir="/d", listen=listen))


def test_data_of_a_single_broker_is_not_mixed_with_that_of_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()

    with pytest.raises(CommandError, match="has the data of a single broker"):
        run_cluster(Wanted(brokers=1, data_dir=str(tmp_path), listen="localhost:0"))


@pytest.mark.parametrize("number", ["0", "101", "many"])
def test_how_many_brokers_is_a_number_that_makes_sense(number: str) -> None:
    with pytest.raises(UsageError, match="--brokers"):
        parse(start.COMMAND.options, ["--brokers", number])

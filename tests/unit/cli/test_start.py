from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.base.properties import Property
from barnabas.cli import server_start, start
from barnabas.cli.options import UsageError, parse
from barnabas.cli.start import Launch, listener


def launch(*argv: str) -> Launch:
    return start.launch_of(parse(start.COMMAND.options, argv))


def server(*argv: str) -> Launch:
    command = server_start.COMMAND
    return server_start.launch_of(parse(command.options, argv, words=command.words))


def test_without_options_a_broker_listens_on_this_machine_alone() -> None:
    assert launch() == Launch(
        properties={"log.dirs": "data", "listeners": "PLAINTEXT://localhost:9092"}
    )


def test_overrides_win_over_options_and_options_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/file\nnode.id=3\n")
    found = launch(
        *("--config", str(file), "--data-dir", "/typed", "--listen", "0.0.0.0:0"),
        *("--override", "node.id=4", "--override", "listeners=PLAINTEXT://:1"),
        *("--log-level", "debug"),
    )

    assert found == Launch(
        file=str(file),
        properties={
            "log.dirs": Property("/file", 1),
            "node.id": Property("3", 2),
            "listeners": "PLAINTEXT://localhost:9092",
        },
        overrides={"log.dirs": "/typed", "listeners": "PLAINTEXT://:1", "node.id": "4"},
        log_level="debug",
    )


def test_what_the_file_says_of_places_is_not_defaulted(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.dir=/old\nport=9999\n")

    assert launch("--config", str(file)).properties.keys() == {"log.dir", "port"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("localhost:9092", "PLAINTEXT://localhost:9092"),
        (":0", "PLAINTEXT://:0"),
        ("[::1]:9092", "PLAINTEXT://[::1]:9092"),
        ("SSL://:1,PLAINTEXT://:2", "SSL://:1,PLAINTEXT://:2"),
    ],
)
def test_an_address_becomes_a_listener(text: str, value: str) -> None:
    assert listener(text) == value


@pytest.mark.parametrize("text", ["localhost", "localhost:", "localhost:x", "h:65536"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f'--listen: "{text}" is not host:port'):
        listener(text)


def test_a_server_has_exactly_what_its_file_and_overrides_say(tmp_path: Path) -> None:
    file = tmp_path / "broker0.properties"
    file.write_text("broker.id=0\n")

    assert server("-daemon", str(file), "--override", "a=b=c") == Launch(
        file=str(file), properties={"broker.id": Property("0", 1)}, overrides={"a": "b=c"}
    )


def test_a_server_needs_a_file_that_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which properties file"):
        server()
    missing = tmp_path / "none"
    with pytest.raises(UsageError, match=f"cannot read {missing}: No such file"):
        server(str(missing))
    with pytest.raises(UsageError, match='--override: "a" is not of the form key=value'):
        launch("--override", "a")

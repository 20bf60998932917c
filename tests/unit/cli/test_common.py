from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.common import (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    ZOOKEEPER,
    client_properties,
    older,
    read_pairs,
    true_or_false,
)
from barnabas.cli.options import UsageError, parse
from barnabas.client import zookeeper_lookup

OPTIONS = (BOOTSTRAP, COMMAND_CONFIG, COMMAND_PROPERTY)


def properties(*argv: str) -> dict[str, str]:
    return client_properties(
        parse(OPTIONS, argv), files=["command-config"], pairs=["command-property"]
    )


def test_without_anything_the_broker_of_this_machine_is_meant() -> None:
    assert properties() == {"bootstrap.servers": "localhost:9092"}


def test_what_is_typed_wins_over_a_pair_and_a_pair_over_a_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:1\nclient.id=f\nlinger.ms = 7\n")

    assert properties("--command-config", str(file)) == {
        "bootstrap.servers": "file:1",
        "client.id": "f",
        "linger.ms": "7",
    }
    found = properties(
        *("--command-config", str(file)),
        *("--command-property", "client.id=p", "--bootstrap-server", "typed:2"),
    )
    assert found == {"bootstrap.servers": "typed:2", "client.id": "p", "linger.ms": "7"}


def test_a_file_that_cannot_be_read_is_named_with_its_option(tmp_path: Path) -> None:
    missing = tmp_path / "none.properties"
    with pytest.raises(UsageError) as caught:
        properties("--command-config", str(missing))
    assert (
        str(caught.value) == f"--command-config: cannot read {missing}: No such file or directory"
    )

    broken = tmp_path / "broken.properties"
    broken.write_text("a=\\u12\n")
    with pytest.raises(UsageError, match=r"--command-config: .*broken\.properties: line 1"):
        properties("--command-config", str(broken))


@pytest.mark.parametrize("text", ["", ",", "host:port", ":9092", "host:99999", "a:1,b:x"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--bootstrap-server: "):
        properties(f"--bootstrap-server={text}")


def test_a_pair_keeps_what_stands_behind_the_first_equals_sign() -> None:
    assert read_pairs("property", ["a=b=c", "empty=", " key = v "]) == {
        "a": "b=c",
        "empty": "",
        "key": " v ",
    }
    for bad in ("key", "=v", ""):
        with pytest.raises(UsageError, match=f'^--property: "{bad}" is not of the form key=value$'):
            read_pairs("property", [bad])


def test_a_switch_is_on_only_if_it_says_true() -> None:
    assert true_or_false({"a": " TRUE "}, "a")
    assert not true_or_false({"a": "yes"}, "a", default=True)
    assert true_or_false({}, "a", default=True)


def test_an_older_spelling_takes_what_the_option_takes() -> None:
    spelt = older(COMMAND_PROPERTY, "producer-property")

    assert (spelt.name, spelt.many, spelt.value) == ("producer-property", True, "KEY=VALUE")
    assert "--command-property" in spelt.help


EVERY_WAY = (BOOTSTRAP, BOOTSTRAP_CONTROLLER, ZOOKEEPER, COMMAND_CONFIG)


def by_every_way(*argv: str) -> dict[str, str]:
    return client_properties(parse(EVERY_WAY, argv), files=["command-config"], pairs=[])


def test_controllers_stand_in_the_place_of_brokers(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:1\nclient.id=f\n")

    found = by_every_way("--command-config", str(file), "--bootstrap-controller", "c:1")
    assert found == {"bootstrap.controllers": "c:1", "client.id": "f"}
    with pytest.raises(UsageError, match=r"^--bootstrap-controller: "):
        by_every_way("--bootstrap-controller", "c:port")


def test_a_file_may_name_controllers_where_a_tool_can_ask_them(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.controllers=c:1\n")

    assert by_every_way("--command-config", str(file)) == {"bootstrap.controllers": "c:1"}
    assert by_every_way("--command-config", str(file), "--bootstrap-server", "b:1") == {
        "bootstrap.servers": "b:1"
    }
    assert properties("--command-config", str(file)) == {"bootstrap.servers": "localhost:9092"}


def test_zookeeper_is_asked_where_the_brokers_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def find_brokers(connect: str, protocol: str) -> str:
        asked.append((connect, protocol))
        return "b:1,b:2"

    monkeypatch.setattr(zookeeper_lookup, "find_brokers", find_brokers)

    assert by_every_way("--zookeeper", "z:2181/kafka") == {"bootstrap.servers": "b:1,b:2"}
    assert asked == [("z:2181/kafka", "PLAINTEXT")]
    assert capsys.readouterr() == (
        "",
        "warning: --zookeeper is deprecated: use --bootstrap-server\n",
    )


@pytest.mark.parametrize(
    "others", ["--bootstrap-server b:1", "--broker-list b:1", "--bootstrap-controller c:1"]
)
def test_there_is_one_way_to_a_cluster(others: str) -> None:
    with pytest.raises(UsageError, match="cannot be used together"):
        by_every_way("--zookeeper", "z:2181", *others.split())

from __future__ import annotations

import pytest

from barnabas.base.settings import (
    BrokerConfig,
    ConfigError,
    Listener,
    parse_listeners,
    parse_protocol_map,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLAINTEXT://:9092", Listener("PLAINTEXT", "", 9092)),
        ("plaintext://localhost:0", Listener("PLAINTEXT", "localhost", 0)),
        ("A_1.b-c://10.0.0.1:65535", Listener("A_1.B-C", "10.0.0.1", 65535)),
        ("P://[::1]:9092", Listener("P", "::1", 9092)),
        ("P://[fe80::1%eth0]:9092", Listener("P", "fe80::1%eth0", 9092)),
        (" P://my_host:1 ", Listener("P", "my_host", 1)),
    ],
)
def test_a_listener_is_a_name_a_host_and_a_port(text: str, expected: Listener) -> None:
    assert parse_listeners(text) == [expected]


@pytest.mark.parametrize("text", ["P://[::1]:9092", "P://a:1", "P://:1"])
def test_a_listener_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_listeners(text)[0]) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost:9092",
        "://h:1",
        "P://h",
        "P://h:",
        "P://h:x",
        "P://h:-1",
        "P://::1:9092",
        "P://[::1:9092",
        "P://h:1/x",
        "P://a b:1",
        "P://h:65536",
        "P:///h:1",
    ],
)
def test_what_is_not_a_listener_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Invalid listeners"):
        parse_listeners(text)


@pytest.mark.parametrize("text", ["A://a:1,a://b:2", "A://a:1,B://b:1", "A://:1,B://[::1]:1"])
def test_names_and_ports_given_twice_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="given twice"):
        parse_listeners(text)


def test_a_port_may_be_shared_by_an_ipv4_and_an_ipv6_address() -> None:
    assert len(parse_listeners("A://127.0.0.1:1,B://[::1]:1")) == 2
    with pytest.raises(ConfigError, match="port 1 is given twice"):
        parse_listeners("A://127.0.0.1:1,B://[::1]:1,C://127.0.0.2:1")


def test_any_number_of_listeners_may_ask_for_any_free_port() -> None:
    assert len(parse_listeners("A://a:0,B://a:0,C://a:0")) == 3


def test_advertised_listeners_may_share_a_port() -> None:
    assert len(parse_listeners("A://a:1,B://b:1", "advertised.listeners")) == 2


def test_a_protocol_map_is_read_without_regard_to_case() -> None:
    assert parse_protocol_map("inside:ssl, OUTSIDE:SASL_SSL,") == {
        "INSIDE": "SSL",
        "OUTSIDE": "SASL_SSL",
    }


@pytest.mark.parametrize("text", ["A", "A:NOPE", ":SSL", "A:SSL,a:SSL"])
def test_a_bad_protocol_map_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Invalid listener\.security\.protocol\.map"):
        parse_protocol_map(text)


MAP = {"listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SSL,CTRL:PLAINTEXT"}


def test_what_is_advertised_is_what_is_listened_on_unless_said() -> None:
    plain = BrokerConfig.from_properties().listeners()

    assert plain.broker == plain.advertised == (Listener("PLAINTEXT", "", 9092),)
    assert plain.controller == ()
    assert plain.inter_broker == "PLAINTEXT"
    assert plain.protocols["PLAINTEXT"] == "PLAINTEXT"


def test_controllers_listeners_are_not_told_to_clients() -> None:
    found = BrokerConfig.from_properties(
        {
            "listeners": "INSIDE://a:1,OUTSIDE://b:2,CTRL://c:3",
            "advertised.listeners": "OUTSIDE://example:9,INSIDE://a:1",
            "controller.listener.names": "ctrl",
            "inter.broker.listener.name": "inside",
        }
        | MAP
    ).listeners()

    assert found.broker == (Listener("INSIDE", "a", 1), Listener("OUTSIDE", "b", 2))
    assert found.controller == (Listener("CTRL", "c", 3),)
    assert found.advertised == (Listener("OUTSIDE", "example", 9), Listener("INSIDE", "a", 1))
    assert found.inter_broker == "INSIDE"
    assert found.protocols["OUTSIDE"] == "SSL"


def test_a_controllers_listener_needs_no_entry_in_the_map() -> None:
    found = BrokerConfig.from_properties(
        {"listeners": "PLAINTEXT://:1,CONTROLLER://:2", "controller.listener.names": "CONTROLLER"}
    ).listeners()

    assert found.protocols["CONTROLLER"] == "PLAINTEXT"


def test_brokers_talk_over_the_first_listener_that_speaks_the_protocol() -> None:
    listeners = {"listeners": "OUTSIDE://b:2,INSIDE://a:1"} | MAP

    assert BrokerConfig.from_properties(listeners).listeners().inter_broker == "INSIDE"
    by_protocol = listeners | {"security.inter.broker.protocol": "SSL"}
    assert BrokerConfig.from_properties(by_protocol).listeners().inter_broker == "OUTSIDE"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"listeners": "PLAINTEXT://0.0.0.0:1"}, "nobody can connect to 0.0.0.0"),
        ({"listeners": "PLAINTEXT://[::]:1"}, "nobody can connect to ::"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "nobody can connect to 0.0.0.0"),
        ({"advertised.listeners": "OTHER://a:1"}, "no listener is called OTHER"),
        ({"inter.broker.listener.name": "OTHER"}, "no listener is called OTHER"),
        ({"listeners": "OTHER://a:1"}, "says nothing of OTHER"),
        (
            {
                "listeners": "INSIDE://a:1,OUTSIDE://b:2",
                "advertised.listeners": "OUTSIDE://b:2",
                "inter.broker.listener.name": "INSIDE",
            }
            | MAP,
            "INSIDE, for brokers, is missing",
        ),
    ],
)
def test_contradictions_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerConfig.from_properties(settings)


def test_every_interface_may_be_listened_on_if_something_else_is_advertised() -> None:
    found = BrokerConfig.from_properties(
        {"listeners": "PLAINTEXT://0.0.0.0:1", "advertised.listeners": "PLAINTEXT://example:1"}
    ).listeners()

    assert found.broker[0].host == "0.0.0.0"
    assert found.advertised[0].host == "example"


def test_a_controller_alone_has_no_broker_listener() -> None:
    found = BrokerConfig.from_properties(
        {
            "process.roles": "controller",
            "listeners": "CONTROLLER://:1",
            "controller.listener.names": "CONTROLLER",
        }
    ).listeners()

    assert found.broker == found.advertised == ()
    assert found.inter_broker == ""

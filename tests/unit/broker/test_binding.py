"""Sockets for the listeners: all or none, and one clear line if that fails."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from barnabas.base.settings import BrokerConfig, ConfigError
from barnabas.broker.binding import Binding, CannotListen, bind_listeners

MAP = "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def bind(sockets: ExitStack, listeners: str, **settings: str) -> list[Binding]:
    config = BrokerConfig.from_properties(
        {
            "listeners": listeners,
            "listener.security.protocol.map": MAP,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    bindings = bind_listeners(config)
    for binding in bindings:
        sockets.enter_context(binding.sock)
    return bindings


def taken_port(sockets: ExitStack) -> int:
    sock = sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
    port: int = sock.getsockname()[1]
    return port


def test_port_0_becomes_a_real_port_and_that_is_told(sockets: ExitStack) -> None:
    (binding,) = bind(sockets, "PLAINTEXT://127.0.0.1:0")

    port = binding.sock.getsockname()[1]
    told = binding.listener
    assert port > 0
    assert (told.host, told.port) == ("127.0.0.1", port)
    assert (told.advertised_host, told.advertised_port) == ("127.0.0.1", port)


def test_what_is_advertised_is_told_instead(sockets: ExitStack) -> None:
    inside, outside = bind(
        sockets,
        "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        advertised_listeners="INSIDE://broker:1111,OUTSIDE://203.0.113.7:0",
        inter_broker_listener_name="INSIDE",
    )

    assert (inside.listener.advertised_host, inside.listener.advertised_port) == ("broker", 1111)
    assert outside.listener.advertised_host == "203.0.113.7"
    assert outside.listener.advertised_port == outside.listener.port > 0


def test_without_a_host_every_interface_is_bound_and_this_machine_is_told(
    sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "this.machine")
    (binding,) = bind(sockets, "PLAINTEXT://:0")

    assert binding.sock.getsockname()[0] in ("::", "0.0.0.0")
    assert binding.listener.advertised_host == "this.machine"


def test_a_machine_without_ipv6_is_bound_on_ipv4(
    sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    (binding,) = bind(sockets, "PLAINTEXT://:0")

    assert binding.sock.getsockname()[0] == "0.0.0.0"


def test_controllers_listeners_are_not_for_clients(sockets: ExitStack) -> None:
    bindings = bind(
        sockets,
        "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        controller_listener_names="CONTROLLER",
    )

    told = [(binding.listener.name, binding.listener.is_controllers) for binding in bindings]
    assert told == [("PLAINTEXT", False), ("CONTROLLER", True)]


def test_a_broker_without_a_controller_has_no_listener_for_one(sockets: ExitStack) -> None:
    bindings = bind(
        sockets,
        "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        controller_listener_names="CONTROLLER",
        process_roles="broker",
        controller_quorum_bootstrap_servers="localhost:1",
    )

    assert [binding.listener.name for binding in bindings] == ["PLAINTEXT"]


def test_a_port_that_is_taken_is_one_clear_line(sockets: ExitStack) -> None:
    port = taken_port(sockets)

    with pytest.raises(CannotListen) as refusal:
        bind(sockets, f"PLAINTEXT://127.0.0.1:{port}")

    assert str(refusal.value) == (
        f"cannot listen on PLAINTEXT://127.0.0.1:{port}: Address already in use."
        " Is another broker running?"
    )


def test_a_host_that_is_not_there_is_one_clear_line(sockets: ExitStack) -> None:
    with pytest.raises(CannotListen, match=r"^cannot listen on PLAINTEXT://no\.such\.invalid:0: "):
        bind(sockets, "PLAINTEXT://no.such.invalid:0")


def test_if_one_listener_cannot_be_bound_none_is(
    sockets: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = taken_port(sockets)
    made: list[socket.socket] = []
    bind_one = socket.socket.bind

    def remember(sock: socket.socket, address: object) -> None:
        made.append(sock)
        bind_one(sock, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "bind", remember)

    with pytest.raises(CannotListen):
        bind(sockets, f"INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:{port}")

    assert [sock.fileno() for sock in made] == [-1, -1]


def test_a_protocol_that_is_not_served_is_refused(sockets: ExitStack) -> None:
    with pytest.raises(ConfigError, match="SSL; this version serves PLAINTEXT"):
        bind(sockets, "SSL://127.0.0.1:0", security_inter_broker_protocol="SSL")

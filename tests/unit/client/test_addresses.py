from __future__ import annotations

import socket

import pytest

from barnabas.client.addresses import find_listening, parse_servers, unknown_hosts
from barnabas.client.errors import not_reachable


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("a:1, b:2 ,", [("a", 1), ("b", 2)]),
        ("host", [("host", 9092)]),
        ("PLAINTEXT://host:1", [("host", 1)]),
        ("[::1]:5,[fe80::1]", [("::1", 5), ("fe80::1", 9092)]),
        ("::1", [("::1", 9092)]),
    ],
)
def test_a_list_of_addresses(text: str, servers: list[tuple[str, int]]) -> None:
    assert parse_servers(text) == servers


@pytest.mark.parametrize("text", ["", " , ", "host:", "host:x", "host:70000", ":1", "[::1]x:1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_servers(text)


def test_the_first_address_where_somebody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as closing:
            closed = closing.getsockname()[1]
        servers = f"127.0.0.1:{closed},127.0.0.1:{port}"

        assert find_listening(servers, timeout_s=5) == ("127.0.0.1", port)
        assert find_listening(f"127.0.0.1:{closed}", timeout_s=5) is None


def test_hosts_are_unknown_only_if_none_of_them_is_known() -> None:
    assert unknown_hosts("no-such-host.invalid:9092") == ["no-such-host.invalid"]
    assert unknown_hosts("no-such-host.invalid:9092,127.0.0.1:1") == []


def test_a_host_that_does_not_exist_is_not_asked_whether_it_runs() -> None:
    assert str(not_reachable("no-such-host.invalid:9092")) == (
        "broker not reachable at no-such-host.invalid:9092: "
        'no address is known for "no-such-host.invalid".'
    )
    assert "is it running?" in str(not_reachable("127.0.0.1:1"))

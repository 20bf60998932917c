"""Brokers are found where ZooKeeper says, as brokers of every age wrote it there."""

from __future__ import annotations

import json
import socket

import pytest

from barnabas.client.zookeeper_lookup import (
    ZooKeeperLookupError,
    broker_address,
    find_brokers,
    split_connect,
)


@pytest.mark.parametrize(
    ("connect", "hosts", "chroot"),
    [
        ("localhost:2181", "localhost:2181", ""),
        ("a,b:2182", "a:2181,b:2182", ""),
        ("a:1, b:2/kafka/x/", "a:1,b:2", "/kafka/x"),
        ("[::1]:2181/k", "[::1]:2181", "/k"),
        ("[::1]", "[::1]:2181", ""),
        ("h/", "h:2181", ""),
    ],
)
def test_a_connect_string_is_servers_and_a_path(connect: str, hosts: str, chroot: str) -> None:
    assert split_connect(connect) == (hosts, chroot)


def node(**fields: object) -> bytes:
    return json.dumps(fields).encode()


NEW = node(
    endpoints=["IN://in:1", "OUT://out:2", "S://s:3"],
    listener_security_protocol_map={"IN": "PLAINTEXT", "OUT": "SSL", "S": "SASL_SSL"},
    host="in",
    port=1,
)


@pytest.mark.parametrize(
    ("data", "protocol", "address"),
    [
        (NEW, "PLAINTEXT", "in:1"),
        (NEW, "ssl", "out:2"),
        (NEW, " SASL_SSL ", "s:3"),
        (NEW, "SASL_PLAINTEXT", None),
        (node(endpoints=["PLAINTEXT://a:9"], host=None, port=-1), "PLAINTEXT", "a:9"),
        (node(endpoints=["SSL://a:9"], host=None, port=-1), "PLAINTEXT", None),
        (node(version=1, host="old", port=9092), "PLAINTEXT", "old:9092"),
        (node(version=1, host="old", port=9092), "SSL", None),
    ],
)
def test_the_listener_of_the_protocol_is_taken(
    data: bytes, protocol: str, address: str | None
) -> None:
    assert broker_address(data, protocol) == address


@pytest.mark.parametrize("text", ["", "h:port", "/kafka"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ZooKeeperLookupError, match=r"^--zookeeper: "):
        find_brokers(text, "PLAINTEXT")


def test_that_nobody_listens_is_one_line_that_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ZooKeeperLookupError) as caught:
            find_brokers(f"{address}/kafka", "PLAINTEXT")
    assert caught.value.before_any_answer
    assert str(caught.value).startswith(f"ZooKeeper not reachable at {address}: is it running?")
    assert "--bootstrap-server" in str(caught.value)

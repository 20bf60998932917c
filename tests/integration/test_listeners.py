"""Listeners: several at once, both families, free ports, and what clients are told of them."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from quick_clients import read_all, send, values
from wire_client import METADATA_VERSION, WireClient

from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.metadata import MetadataRequest

NAMES = "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT"
ENDPOINT = re.compile(r"(?P<name>[A-Z]+)://(?P<host>\[.+?\]|[^:\s]*):(?P<port>\d+)")


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def ports(broker: BarnabasProcess) -> dict[str, int]:
    """By listener, from the line that says that the broker is ready."""
    ready = next(line for line in reversed(broker.output) if "started: " in line)
    return {found["name"]: int(found["port"]) for found in ENDPOINT.finditer(ready)}


def told(client: WireClient) -> set[tuple[str, int]]:
    """The addresses in Metadata and DescribeCluster, which must be the same."""
    metadata: Any = client.call(MetadataRequest(topics=[]), METADATA_VERSION)
    cluster: Any = client.call(DescribeClusterRequest(), 1)
    found = {(broker.host, broker.port) for broker in metadata.brokers}
    assert {(broker.host, broker.port) for broker in cluster.brokers} == found
    return found


def test_each_client_is_told_the_address_of_the_listener_it_came_in_on(tmp_path: Path) -> None:
    listen = "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.2:0,PLAINTEXT://localhost:0"
    with BarnabasProcess(tmp_path, NAMES, listen=listen) as broker:
        port = ports(broker)
        assert len(set(port.values())) == 3

        for name, host in (("INSIDE", "127.0.0.1"), ("OUTSIDE", "127.0.0.2")):
            with WireClient(port[name], host=host) as client:
                assert told(client) == {(host, port[name])}
        send(f"127.0.0.2:{port['OUTSIDE']}", "t", [(None, b"from outside")])
        assert values(read_all(f"localhost:{port['PLAINTEXT']}", "t")) == [b"from outside"]


def test_advertised_listeners_are_what_clients_are_told(tmp_path: Path) -> None:
    advertised = "advertised.listeners=INSIDE://broker.inside:1111,OUTSIDE://203.0.113.7:2222"
    listen = "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0"
    with BarnabasProcess(tmp_path, NAMES, advertised, listen=listen) as broker:
        port = ports(broker)

        with WireClient(port["INSIDE"]) as client:
            assert told(client) == {("broker.inside", 1111)}
        with WireClient(port["OUTSIDE"]) as client:
            assert told(client) == {("203.0.113.7", 2222)}


def test_a_client_follows_the_advertised_address(tmp_path: Path) -> None:
    advertised = "advertised.listeners=INSIDE://localhost:0"  # 0: the port that was bound
    listen = "INSIDE://127.0.0.1:0"
    with BarnabasProcess(tmp_path, NAMES, advertised, listen=listen) as broker:
        with WireClient(broker.port) as client:
            assert told(client) == {("localhost", broker.port)}
        send(broker.bootstrap, "t", [(None, b"x")])

        assert values(read_all(broker.bootstrap, "t")) == [b"x"]


@needs_ipv6
def test_an_ipv6_address_is_listened_on_and_told(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, listen="[::1]:0") as broker:
        with WireClient(broker.port, host="::1") as client:
            assert told(client) == {("::1", broker.port)}
        with pytest.raises(ConnectionRefusedError):
            WireClient(broker.port, host="127.0.0.1")
        bootstrap = f"[::1]:{broker.port}"
        create_topics(bootstrap, "t")
        send(bootstrap, "t", [(None, b"over IPv6")])

        assert values(read_all(bootstrap, "t")) == [b"over IPv6"]


@needs_ipv6
def test_both_families_may_share_a_port(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    listen = f"INSIDE://127.0.0.1:{port},OUTSIDE://[::1]:{port}"
    with BarnabasProcess(tmp_path, NAMES, listen=listen) as broker:
        assert ports(broker) == {"INSIDE": port, "OUTSIDE": port}

        for host in ("127.0.0.1", "::1"):
            with WireClient(port, host=host) as client:
                assert told(client) == {(host, port)}


def test_without_a_host_every_interface_is_served(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, listen=":0") as broker:
        hosts = ["127.0.0.1", "127.0.0.5", *(["::1"] if has_ipv6() else [])]
        for host in hosts:
            with WireClient(broker.port, host=host) as client:
                assert told(client) == {(socket.getfqdn(), broker.port)}


def test_a_free_port_is_taken_anew_at_each_start_and_told(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        first = broker.port
        broker.stop()
        broker.port = 0
        with socket.socket() as squatter:  # the old port is taken: the broker must do without it
            squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            squatter.bind(("127.0.0.1", first))
            broker.start()

            assert broker.port not in {0, first}
            with WireClient(broker.port) as client:
                assert told(client) == {("127.0.0.1", broker.port)}
            send(broker.bootstrap, "t", [(None, b"x")])
            broker.stop()

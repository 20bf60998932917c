"""Where the brokers of a cluster are, asked of its ZooKeeper: for command lines of older notes.

Reads `/brokers/ids` as every broker with ZooKeeper writes it, ours and Apache Kafka's of any age.
"""

from __future__ import annotations

import json
import socket
from typing import Any, ClassVar

from barnabas.client.addresses import find_listening
from barnabas.client.connect import ANSWER_TIMEOUT_S, REACH_TIMEOUT_S
from barnabas.client.errors import ClientError
from barnabas.controller.zookeeper_layout import BROKER_IDS

DEFAULT_PORT = 2181


class ZooKeeperLookupError(ClientError):
    """ZooKeeper does not tell where the brokers are."""

    before_any_answer: ClassVar[bool] = True


def find_brokers(connect: str, protocol: str) -> str:
    """`host:port,...` of all brokers that are registered at `host:port,.../path`."""
    hosts, chroot = split_connect(connect)
    try:
        listening = find_listening(hosts, timeout_s=REACH_TIMEOUT_S)
    except ValueError as error:
        raise ZooKeeperLookupError(f"--zookeeper: {error}") from None
    if listening is None:
        raise ZooKeeperLookupError(
            f"ZooKeeper not reachable at {hosts}: is it running? If the cluster has none, name a "
            "broker with --bootstrap-server."
        )
    if not _is_zookeeper(*listening):
        address = "{}:{}".format(*listening)
        raise ZooKeeperLookupError(
            f"{address} does not answer as ZooKeeper does: if it is a broker, use "
            f"--bootstrap-server {address}"
        )
    found = [broker_address(data, protocol) for data in _read(hosts, chroot)]
    addresses = [address for address in found if address is not None]
    if not addresses:
        raise ZooKeeperLookupError(
            f"no broker is registered in ZooKeeper at {connect}: is one running?"
        )
    return ",".join(addresses)


def _is_zookeeper(host: str, port: int) -> bool:
    """Whatever ZooKeeper is asked in four letters it answers, be it to say that it will not."""
    try:
        with socket.create_connection((host, port), timeout=ANSWER_TIMEOUT_S) as sock:
            sock.sendall(b"srvr")
            return bool(sock.recv(1))
    except OSError:
        return False


def split_connect(connect: str) -> tuple[str, str]:
    """The servers, each with its port, and the path below which the cluster's nodes are."""
    hosts, slash, path = connect.partition("/")
    named = [part.strip() for part in hosts.split(",") if part.strip()]
    with_ports = [
        part if part.rpartition("]")[2].count(":") == 1 else f"{part}:{DEFAULT_PORT}"
        for part in named
    ]
    return ",".join(with_ports), f"{slash}{path}".rstrip("/")


def broker_address(data: bytes, protocol: str) -> str | None:
    """What a broker's node says of where clients of this protocol connect; None if nowhere."""
    fields: dict[str, Any] = json.loads(data)
    protocols = fields.get("listener_security_protocol_map", {})
    for endpoint in fields.get("endpoints", ()):
        listener, _, address = endpoint.partition("://")
        if protocols.get(listener, listener) == protocol.strip().upper():
            return str(address)
    if fields.get("host") and protocol.strip().upper() == "PLAINTEXT":
        return f"{fields['host']}:{fields['port']}"
    return None


def _read(hosts: str, chroot: str) -> list[bytes]:
    import logging

    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException, NoNodeError
    from kazoo.handlers.threading import KazooTimeoutError

    silent = logging.getLogger("barnabas.zookeeper_lookup")  # what matters is raised
    silent.disabled = True
    client = KazooClient(hosts=f"{hosts}{chroot}", timeout=ANSWER_TIMEOUT_S, logger=silent)
    try:
        client.start(timeout=ANSWER_TIMEOUT_S)
        ids = sorted(client.get_children(BROKER_IDS), key=int)
        return [client.get(f"{BROKER_IDS}/{each}")[0] for each in ids]
    except NoNodeError:
        return []
    except (KazooTimeoutError, KazooException) as error:
        raise ZooKeeperLookupError(
            f"no usable answer from ZooKeeper at {hosts}: {error or type(error).__name__}"
        ) from None
    finally:
        client.stop()
        client.close()

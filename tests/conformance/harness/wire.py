"""The few bytes of Kafka's protocol that are needed to see whether a broker answers.

Deliberately independent of `barnabas.protocol`: a fault there must not hide itself here.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

METADATA_V1_NO_TOPICS = struct.pack(">hhihi", 3, 1, 1, -1, 0)  # key, version, id, client id, topics


class NotAnsweredError(Exception):
    """Nothing listens there, or what listens does not answer (yet)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What a Metadata answer says of the cluster: (node id, host, port) of each broker."""

    brokers: tuple[tuple[int, str, int], ...]


def exchange(address: str, body: bytes, *, timeout: float = 5.0) -> bytes:
    """Send one framed request, return the frame that comes back, without its length."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            (length,) = struct.unpack(">i", receive(connection, 4))
            return receive(connection, length)
    except OSError as error:
        raise NotAnsweredError(f"{address}: {error}") from error


def receive(connection: socket.socket, count: int) -> bytes:
    """Exactly `count` bytes, or a ConnectionError when the other side closes first."""
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ConnectionError(f"closed after {len(data)} of {count} bytes")
        data += chunk
    return bytes(data)


def cluster_view(address: str, *, timeout: float = 5.0) -> ClusterView:
    """Ask for Metadata without topics."""
    answer = exchange(address, METADATA_V1_NO_TOPICS, timeout=timeout)
    (count,) = struct.unpack_from(">i", answer, 4)
    position, brokers = 8, []
    for _ in range(count):
        node, length = struct.unpack_from(">ih", answer, position)
        position += 6
        host = answer[position : position + length].decode()
        (port, rack) = struct.unpack_from(">ih", answer, position + length)
        position += length + 6 + max(rack, 0)
        brokers.append((node, host, port))
    return ClusterView(brokers=tuple(brokers))

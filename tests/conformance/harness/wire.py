"""The few bytes of Kafka's protocol that are needed to see whether a broker answers.

Deliberately independent of `barnabas.protocol`: a fault there must not hide itself here.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

METADATA_V1_NO_TOPICS = struct.pack(">hhihi", 3, 1, 1, -1, 0)  # key, version, id, client id, topics

METADATA_V1_ALL_TOPICS = struct.pack(">hhihi", 3, 1, 1, -1, -1)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """What a Metadata answer says of one partition."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


def cluster_view(address: str, *, timeout: float = 5.0) -> ClusterView:
    """Ask for Metadata without topics."""
    reader = _Reader(exchange(address, METADATA_V1_NO_TOPICS, timeout=timeout))
    return ClusterView(brokers=tuple(reader.brokers()))


def topics_view(address: str, *, timeout: float = 5.0) -> dict[str, dict[int, Replicas]]:
    """Ask for Metadata with all topics: their partitions by index."""
    reader = _Reader(exchange(address, METADATA_V1_ALL_TOPICS, timeout=timeout))
    reader.brokers()
    reader.number("i")  # the controller
    topics = {}
    for _ in range(reader.number("i")):
        reader.number("h")
        name = reader.text()
        reader.number("b")
        topics[name] = dict(reader.partition() for _ in range(reader.number("i")))
    return topics


class _Reader:
    """Takes one Metadata answer (version 1) apart, from the correlation id on."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._position = 4

    def number(self, kind: str) -> int:
        (value,) = struct.unpack_from(f">{kind}", self._answer, self._position)
        self._position += struct.calcsize(f">{kind}")
        found: int = value
        return found

    def text(self) -> str:
        length = max(self.number("h"), 0)
        self._position += length
        return self._answer[self._position - length : self._position].decode()

    def numbers(self) -> tuple[int, ...]:
        return tuple(self.number("i") for _ in range(self.number("i")))

    def brokers(self) -> list[tuple[int, str, int]]:
        found = []
        for _ in range(self.number("i")):
            found.append((self.number("i"), self.text(), self.number("i")))
            self.text()  # the rack
        return found

    def partition(self) -> tuple[int, Replicas]:
        self.number("h")
        index, leader = self.number("i"), self.number("i")
        return index, Replicas(leader=leader, replicas=self.numbers(), isr=self.numbers())

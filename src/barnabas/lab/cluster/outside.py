"""A cluster that is somebody else's: any Kafka, reached through relays of our own.

Clients that begin at `bootstrap` stay behind the relays, so what they say and hear can be counted,
lost, delayed, repeated.  The brokers themselves, and what they say to each other, are out of reach.
"""

from __future__ import annotations

from typing import Self

from barnabas.client.wire import connect_any
from barnabas.lab.cluster.base import Cluster
from barnabas.lab.cluster.view import ANSWER_S, Address
from barnabas.lab.faults.gate import HOST, Gate
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse


class OutsideCluster(Cluster):
    """By its bootstrap servers, without TLS and logins.  Its brokers are those of the beginning."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._bootstrap = bootstrap
        self._known: dict[int, Address] = {}
        self._gates: dict[int, Gate] = {}

    def __enter__(self) -> Self:
        """`ClientError` if nobody answers there."""
        with connect_any(self._bootstrap, timeout_s=ANSWER_S) as connection:
            answer = connection.call(MetadataRequest(topics=[]), MetadataResponse)
        self._known = {each.node_id: (each.host, each.port) for each in answer.brokers}
        self._gates = {node: Gate(node, address) for node, address in self._known.items()}
        self.relays.readdressed = {
            node: (HOST, gate.port.number) for node, gate in self._gates.items()
        }
        self.relays.start()
        for gate in self._gates.values():
            self.relays.open(gate)
        return self

    @property
    def bootstrap(self) -> str:
        return ",".join(gate.address for gate in self._gates.values())

    def addresses(self) -> dict[int, Address]:
        return self._known

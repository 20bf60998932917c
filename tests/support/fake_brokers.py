"""A cluster for tests of `barnabas.client`: what each broker answers is a function of the request.

Requests and answers go through the codec, in the version that the two would agree on, so that a
message that a version cannot carry fails here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from barnabas.client import brokers, wire
from barnabas.client.errors import NotOfferedError, NotReachableError
from barnabas.protocol.apis import APIS, ApiKey
from barnabas.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

Respond = Callable[[int, Any], Any]
"""The answer of a broker to a request."""
PLAIN = {"bootstrap.servers": "h:1"}


@dataclass(slots=True)
class FakeCluster:
    """Brokers 1 and 2 at h:1 and h:2; partition n of topic t is led by broker n + 1."""

    respond: dict[type, Respond] = field(default_factory=dict)
    highest: dict[ApiKey, int] = field(default_factory=dict)
    """Of APIs that the brokers do not know in the newest version; -1: not at all."""
    requests: list[tuple[int, Any]] = field(default_factory=list)
    open_connections: int = 0
    leaders: dict[tuple[str, int], int] = field(default_factory=lambda: {("t", 0): 1, ("t", 1): 2})
    coordinator: int = 2

    def __post_init__(self) -> None:
        self.respond |= {
            MetadataRequest: self._metadata,
            FindCoordinatorRequest: self._find_coordinator,
        }

    def sent(self, kind: type) -> list[tuple[int, Any]]:
        """Brokers that got requests of this kind, with the requests."""
        return [(broker, request) for broker, request in self.requests if type(request) is kind]

    def _metadata(self, broker: int, request: MetadataRequest) -> MetadataResponse:
        known = {topic for topic, _ in self.leaders}
        asked = known if request.topics is None else {each.name or "" for each in request.topics}
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=n, host="h", port=n) for n in (1, 2)],
            topics=[
                MetadataResponseTopic(
                    name=name,
                    error_code=0 if name in known else 3,
                    partitions=[
                        MetadataResponsePartition(
                            partition_index=number, leader_id=leader, replica_nodes=[leader]
                        )
                        for (topic, number), leader in self.leaders.items()
                        if topic == name
                    ],
                )
                for name in sorted(asked)
            ],
        )

    def _find_coordinator(
        self, broker: int, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse:
        at = {"node_id": self.coordinator, "host": "h", "port": self.coordinator}
        if not request.coordinator_keys:
            return FindCoordinatorResponse(**at)
        return FindCoordinatorResponse(
            coordinators=[Coordinator(key=key, **at) for key in request.coordinator_keys]
        )


class FakeConnection:
    def __init__(
        self, cluster: FakeCluster, host: str, port: int, *, timeout_s: float = 1.0
    ) -> None:
        if host != "h" or port not in (1, 2):
            raise NotReachableError(f"{host}:{port}")
        self.cluster = cluster
        self.broker = port
        cluster.open_connections += 1

    @property
    def address(self) -> str:
        return f"h:{self.broker}"

    def __enter__(self) -> FakeConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.cluster.open_connections -= 1

    def version_of(self, key: ApiKey) -> int | None:
        version = min(self.cluster.highest.get(key, 99), APIS[key].max_version)
        return version if version >= APIS[key].min_version else None

    def call(self, request: Any, answer: type[Any]) -> Any:
        self.send(request)
        return self.receive(answer)

    def send(self, request: Any) -> None:
        version = self.version_of(ApiKey(request.api_key))
        if version is None:
            raise NotOfferedError(self.address, APIS[request.api_key].name)
        received = type(request).decode(request.encode(version), version)
        self.cluster.requests.append((self.broker, received))
        self._asked = received, version

    def receive(self, answer: type[Any]) -> Any:
        received, version = self._asked
        answered = self.cluster.respond[type(received)](self.broker, received)
        assert type(answered) is answer
        return answer.decode(answered.encode(version), version)


def install(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A cluster in the place of every connection that the client room opens."""
    cluster = FakeCluster()

    def connect(host: str, port: int, *, timeout_s: float, login: object = None) -> FakeConnection:
        return FakeConnection(cluster, host, port, timeout_s=timeout_s)

    def connect_any(
        servers: str, *, timeout_s: float, what: str = "broker", login: object = None
    ) -> FakeConnection:
        host, _, port = servers.partition(",")[0].partition(":")
        return connect(host, int(port), timeout_s=timeout_s)

    for module in (wire, brokers):
        monkeypatch.setattr(module, "Connection", connect)
        monkeypatch.setattr(module, "connect_any", connect_any)
    return cluster

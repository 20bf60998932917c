"""The brokers of a cluster by id, through our own codec: for requests that librdkafka has not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from barnabas.base.error_codes import ErrorCode
from barnabas.base.ids import NO_ID
from barnabas.client.connect import ANSWER_TIMEOUT_S
from barnabas.client.errors import (
    ClientError,
    NotOfferedError,
    RefusedError,
    SilentBrokerError,
)
from barnabas.client.login import PLAIN, Login, login_of
from barnabas.client.patience import Patience
from barnabas.client.wire import Connection, connect_any
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from barnabas.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

REQUEST_TIMEOUT_S = 30.0
GROUP = 0
TRANSACTION = 1
"""Kinds of coordinators."""
MANY_KEYS = 4
"""The version of FindCoordinator that takes a list of keys."""
CONTROLLERS = 2
"""The kind of nodes that DescribeCluster is asked for, at a controller."""

Place = tuple[str, int]
"""A topic and the number of a partition."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlace:
    """Where a partition is; the leader is None while there is none."""

    leader: int | None
    replicas: tuple[int, ...]
    topic_id: bytes = NO_ID
    is_internal: bool = False


def refusal(code: int, message: str | None = None) -> RefusedError | None:
    """What an error code of an answer says, in the broker's words if it has some; None if all is
    well.
    """
    if code == ErrorCode.NONE:
        return None
    try:
        known = ErrorCode(code)
    except ValueError:
        return RefusedError(str(code), message or f"error code {code}")
    return RefusedError(known.name, message or known.text)


def check_code(code: int, message: str | None = None) -> None:
    """Raises what an error code of an answer says."""
    error = refusal(code, message)
    if error is not None:
        raise error


def by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    """Topics with the numbers of their partitions, all sorted."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(set(places)):
        topics.setdefault(topic, []).append(number)
    return topics


_WRONG_DOOR = {
    False: "{} is a controller's listener: --bootstrap-server takes brokers",
    True: "{} is no controller's listener: --bootstrap-controller takes controllers",
}


@dataclass(slots=True)
class Brokers:
    """Connections to the brokers of one cluster, each opened when first asked for; or to its
    controllers, if the client's properties name those (`bootstrap.controllers`).

    One thread.  Close it, or use it as a context.
    """

    first: Connection
    patience: Patience
    of_controllers: bool = False
    login: Login = PLAIN
    """How every connection is secured."""
    controller_id: int = -1
    """Whoever decides; of a cluster whose brokers pass on what they are asked, any of them."""
    addresses: dict[int, tuple[str, int]] = field(default_factory=dict)
    connections: dict[int, Connection] = field(default_factory=dict)

    @classmethod
    def connect(cls, properties: Mapping[str, str], *, timeout_s: float) -> Brokers:
        """To the cluster that the client's properties name."""
        login = login_of(properties)
        controllers = properties.get("bootstrap.controllers")
        servers = controllers or properties["bootstrap.servers"]
        first = connect_any(
            servers,
            timeout_s=min(timeout_s, ANSWER_TIMEOUT_S),
            what="broker" if controllers is None else "controller",
            login=login,
        )
        brokers = cls(first, Patience(seconds=timeout_s), controllers is not None, login)
        try:
            brokers.look()
        except NotOfferedError:
            first.close()
            raise ClientError(_WRONG_DOOR[brokers.of_controllers].format(servers)) from None
        except RefusedError:
            first.close()
            raise
        except ClientError:
            first.close()
            raise SilentBrokerError(servers) from None
        return brokers

    def look(self) -> None:
        """Learn who is there now."""
        if not self.of_controllers:
            self._metadata([])
            return
        answer = self.first.call(
            DescribeClusterRequest(endpoint_type=CONTROLLERS), DescribeClusterResponse
        )
        check_code(answer.error_code, answer.error_message)
        self.controller_id = answer.controller_id
        self.addresses = {each.broker_id: (each.host, each.port) for each in answer.brokers}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for connection in (self.first, *self.connections.values()):
            connection.close()

    def ids(self) -> list[int]:
        return sorted(self.addresses)

    def to(self, broker_id: int) -> Connection:
        connection = self.connections.get(broker_id)
        if connection is None:
            if broker_id not in self.addresses:
                known = ", ".join(map(str, self.ids()))
                raise ClientError(f"there is no broker {broker_id}; brokers are {known}")
            host, port = self.addresses[broker_id]
            connection = Connection(host, port, timeout_s=self.patience.seconds, login=self.login)
            self.connections[broker_id] = connection
        return connection

    def controller(self) -> Connection:
        """To whoever takes changes of the cluster: the active controller, or a broker that passes
        them on to it.
        """
        known = self.controller_id in self.addresses
        return self.to(self.controller_id) if known else self.first

    def forget(self, broker_id: int) -> None:
        """Gives up a connection that failed: the next one to this broker is new."""
        connection = self.connections.pop(broker_id, None)
        if connection is not None:
            connection.close()

    def places(self, topics: Iterable[str] | None) -> dict[Place, PartitionPlace]:
        """All partitions of these topics, or of every topic; `RefusedError` if one is unknown."""
        wanted = None if topics is None else sorted(set(topics))
        return self.patience.until_settled(lambda: self._places(wanted))

    def _places(self, topics: list[str] | None) -> dict[Place, PartitionPlace]:
        if topics == []:
            return {}
        found = {}
        for topic in self._metadata(topics).topics:
            check_code(topic.error_code)
            for partition in topic.partitions:
                leader = partition.leader_id if partition.leader_id >= 0 else None
                found[topic.name or "", partition.partition_index] = PartitionPlace(
                    leader=leader,
                    replicas=tuple(partition.replica_nodes),
                    topic_id=topic.topic_id,
                    is_internal=topic.is_internal,
                )
        return found

    def _metadata(self, topics: list[str] | None) -> MetadataResponse:
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer = self.first.call(
            MetadataRequest(topics=asked, allow_auto_topic_creation=False), MetadataResponse
        )
        self.addresses = {each.node_id: (each.host, each.port) for each in answer.brokers}
        self.controller_id = answer.controller_id
        return answer

    def ask_coordinator(
        self, key: str, kind: int, ask: Callable[[int, Connection], Result]
    ) -> Result:
        """Asks the broker that coordinates a group or a transactional id.

        It is looked up, and asked again, as long as `ask` is refused for a passing reason.
        """

        def attempt() -> Result:
            broker_id = self._coordinator(key, kind)
            return ask(broker_id, self.to(broker_id))

        return self.patience.until_settled(attempt)

    def _coordinator(self, key: str, kind: int) -> int:
        version = self.first.version_of(ApiKey.FIND_COORDINATOR)
        if version is not None and version >= MANY_KEYS:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            (found,) = self.first.call(request, FindCoordinatorResponse).coordinators
        else:
            request = FindCoordinatorRequest(key=key, key_type=kind)
            old = self.first.call(request, FindCoordinatorResponse)
            found = Coordinator(
                node_id=old.node_id,
                host=old.host,
                port=old.port,
                error_code=old.error_code,
                error_message=old.error_message,
            )
        check_code(found.error_code, found.error_message)
        self.addresses[found.node_id] = (found.host, found.port)
        return found.node_id


@dataclass(slots=True)
class OverBrokers:
    """What asks the brokers of a cluster, and closes the connections to them in the end.

    One thread; every call blocks until the brokers have answered, or raises `ClientError`.
    """

    brokers: Brokers

    @classmethod
    def connect(cls, properties: Mapping[str, str]) -> Self:
        return cls(Brokers.connect(properties, timeout_s=REQUEST_TIMEOUT_S))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.brokers.close()

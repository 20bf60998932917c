"""What the handlers of one broker share.  Built by `node.py`; owned by the loop thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.fenced_lately import FencedLately
from barnabas.broker.quotas.clients import ClientQuotas
from barnabas.storage.workers import InlineWorkers

if TYPE_CHECKING:
    from barnabas.base.clock import Clock
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.controller_link import ControllerLink
    from barnabas.broker.directories import Directories
    from barnabas.broker.groups import Groups
    from barnabas.broker.handlers.producer_ids import ProducerIds
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.replicating import Replicating
    from barnabas.broker.transactions import Transactions
    from barnabas.client.node_connection import NodeConnections
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message
    from barnabas.replication.fetch_session import FetchSessions
    from barnabas.replication.replicas import ReplicaManager
    from barnabas.storage.manager import LogManager
    from barnabas.storage.workers import Workers


class ControllerPort(Protocol):
    """The active controller, in this process or behind a connection."""

    def submit(self, request: Message, done: Callable[[Message], None]) -> None:
        """Have the controller carry out `request`; `done` gets the response, on the loop thread.

        By then this broker has applied the metadata that the request changed.
        """


@dataclass(slots=True, kw_only=True)
class Broker:
    """The wiring of one broker."""

    node_id: int
    cluster_id: str
    config: BrokerConfig
    """Static and dynamic settings; replaced as a whole when a dynamic one changes."""
    image: ClusterImage
    controller: ControllerPort
    replicas: ReplicaManager
    logs: LogManager
    sessions: FetchSessions
    producer_ids: ProducerIds
    clock: Clock
    epoch: int = -1
    """Of this broker's registration with the controller; -1 until it is registered."""
    judges: Workers = field(default_factory=InlineWorkers)
    """Look at the records of batches that have many; a loop turn follows each."""
    listeners: list[BoundListener] = field(default_factory=list)
    inter_broker_listener: str = "PLAINTEXT"
    """The name of the listener over which brokers talk to each other."""
    link: ControllerLink | None = None
    """The way to the controller; None if it is in this process."""
    quotas: ClientQuotas = field(init=False)
    """What its clients may use."""
    fenced_lately: FencedLately = field(init=False)
    """Brokers that clients are told of although they are fenced."""
    connections: NodeConnections = field(init=False)
    """To other brokers by id, over the listener for brokers.  It needs the image to find them."""
    replicating: Replicating = field(init=False)
    """What this broker follows, and whom it wants in sync."""
    directories: Directories = field(init=False)
    """What the controller is told of its log directories."""
    groups: Groups = field(init=False)
    """The group coordinator; it needs the rest of the broker, so it is made last."""
    transactions: Transactions = field(init=False)
    """The transaction coordinator, which also needs the groups."""

    def __post_init__(self) -> None:
        self.quotas = ClientQuotas(self.config, self.clock.monotonic)
        self.fenced_lately = FencedLately(self.clock.monotonic)

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Where that broker is reached by brokers; None if it is not registered, or not there."""
        other = self.image.brokers.get(node_id)
        endpoint = other.endpoint(self.inter_broker_listener) if other else None
        return None if endpoint is None else (endpoint.host, endpoint.port)

    @property
    def is_rack_aware(self) -> bool:
        """Whether consumers are sent to the replica that is in their rack (KIP-392)."""
        name = self.config.optional_str("replica.selector.class")
        return name is not None and name.endswith("RackAwareReplicaSelector")

    @property
    def fetch_bytes_max(self) -> int:
        """The most that one fetch answers, whatever the client asks for."""
        return self.config.int("fetch.max.bytes")

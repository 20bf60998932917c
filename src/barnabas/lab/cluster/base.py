"""What every cluster of an experiment has: topics, a look at them, and waiting."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self, TypeVar

from barnabas.client.errors import ClientError
from barnabas.lab.cluster.view import Address, Eyes, PartitionView
from barnabas.lab.faults.faults import Faults
from barnabas.lab.faults.relays import Relays

if TYPE_CHECKING:
    from barnabas.lab.cluster.broker import LabBroker
    from barnabas.lab.faults.traffic import Traffic

Result = TypeVar("Result")

POLL_S = 0.02
REPLICAS_MAX = 3


class Cluster(ABC):
    """Ours or somebody else's.  A context manager; any thread may call."""

    def __init__(self) -> None:
        self.brokers: dict[int, LabBroker] = {}
        """Those that are ours to break, by id, from 1 on; none of somebody else's cluster."""
        self.relays = Relays()
        self.eyes = Eyes(self.addresses)
        self.faults = Faults(self)
        self.topics: list[str] = []
        """Those that were created here."""

    @abstractmethod
    def __enter__(self) -> Self:
        """Returns when clients can use it."""

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            stack.callback(self.relays.close)
            stack.callback(self.eyes.close)
            stack.callback(self.faults.lift_all)

    # What kinds of clusters differ in

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """`host:port` of all brokers, running or not; through the relays."""

    @abstractmethod
    def addresses(self) -> dict[int, Address]:
        """Where each broker that is worth asking is, around the relays; the best one first."""

    def nodes(self) -> list[int]:
        """Ids of all nodes that can be cut off from each other; -1 is ZooKeeper."""
        return []

    def controllers(self) -> set[int]:
        """Nodes that a broker is led by: the controller, and ZooKeeper."""
        return set()

    def _last_lines(self) -> str:
        """What the nodes said last, where it can be had."""
        return ""

    # Topics

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        assignment: Mapping[int, list[int]] | None = None,
    ) -> None:
        """Returns when every partition has a leader and all its replicas are in sync.

        Without `replication` there is a replica on every broker, three at most; `assignment` says
        which brokers, the preferred leader first, for each partition.
        """
        topic_id = self.eyes.create_topic(
            name,
            partitions=partitions,
            replication=replication or min(REPLICAS_MAX, len(self.live_brokers())),
            configs=configs or {},
            assignment=assignment,
        )
        self.topics.append(name)
        self._learn(topic_id, name)
        self.wait_in_sync(name)

    def topic_id(self, topic: str) -> bytes:
        """`ClientError` if there is no such topic.  The relays know it from now on."""
        found = self.eyes.topic_id(topic)
        self._learn(found, topic)
        return found

    def try_to_know(self, *topics: str) -> None:
        """Have the relays know these topics by their ids, as far as they exist; those that come
        later are known when they are created.  In the action of a trigger nobody can be asked.
        """
        for topic in () if self.relays.is_own_thread else topics:
            with suppress(ClientError):
                self.topic_id(topic)

    def _learn(self, topic_id: bytes, name: str) -> None:
        self.relays.call(lambda: self.relays.observer.names.update({topic_id: name}))

    def view(self, topic: str) -> dict[int, PartitionView]:
        """Each partition of a topic as the brokers describe it now; empty while nobody answers.

        Asked of the brokers directly: no fault of the network is in the way.
        """
        return self.eyes.partitions_with_offsets(topic)

    def live_brokers(self) -> set[int]:
        """Those that clients are told of; empty while nobody answers."""
        return self.eyes.live_brokers()

    def log_end(self, broker: int, topic: str, partition: int) -> int:
        """The end of the replica's log on this broker, leader or not.

        `ClientError` if it has none, or does not run.
        """
        return self.eyes.log_end(broker, topic, partition)

    def traffic(self) -> Traffic:
        """What has passed through the relays so far; a copy."""
        return self.relays.call(self.relays.observer.traffic.copy)

    # Waiting

    def wait(
        self, condition: Callable[[], Result], timeout_s: float = 60.0, what: str = ""
    ) -> Result:
        """Ask until the answer is true; that answer.  TimeoutError with `what` and the brokers'
        last lines if it does not come."""
        give_up = time.monotonic() + timeout_s
        while not (answer := condition()):
            if time.monotonic() > give_up:
                raise TimeoutError(
                    f"no {what or 'such thing'} in {timeout_s} s\n{self._last_lines()}"
                )
            time.sleep(POLL_S)
        return answer

    def wait_in_sync(self, topic: str, timeout_s: float = 60.0) -> None:
        """Every partition has a leader, and all replicas are in sync."""
        self.wait(
            lambda: _in_sync(self.eyes.partitions(topic).values()),
            timeout_s,
            f"replicas in sync of {topic}",
        )


def _in_sync(partitions: Iterable[PartitionView]) -> bool:
    found = list(partitions)
    return bool(found) and all(
        each.leader is not None and set(each.isr) == set(each.replicas) for each in found
    )

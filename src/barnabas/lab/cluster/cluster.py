"""A cluster for one experiment: real processes, real sockets, and everything between them ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from barnabas.lab.cluster.broker import LabBroker
    from barnabas.lab.cluster.view import PartitionView
    from barnabas.lab.faults.faults import Faults
    from barnabas.lab.faults.traffic import Traffic

Result = TypeVar("Result")


class LabCluster:
    """Brokers 1 to N.  Use as a context manager: started on entry, gone after it.

    One broker is its own controller; several have a controller of their own, node 100, or with
    `zookeeper` a ZooKeeper of their own.
    """

    brokers: dict[int, LabBroker]
    """By id, from 1 on."""
    controller: LabBroker | None
    """The node that is only a controller; None where there is none."""
    faults: Faults
    folder: Path

    def __init__(
        self,
        brokers: int = 1,
        *,
        settings: Mapping[str, str] | None = None,
        broker_settings: Mapping[int, Mapping[str, str]] | None = None,
        folder: Path | None = None,
        zookeeper: bool = False,
    ) -> None:
        """`settings`: of every broker, as in a properties file; `broker_settings`: of one of them.
        `folder`: where the data goes, and stays; without it a new one that is removed in the end.
        """

    def __enter__(self) -> Self:
        """Starts all nodes at once; returns when all brokers serve and know each other."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @property
    def bootstrap(self) -> str:
        """`host:port` of all brokers, running or not."""

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

    def view(self, topic: str) -> dict[int, PartitionView]:
        """Each partition of a topic as the brokers describe it now; empty while nobody answers.

        Asked of the brokers directly: no fault of the network is in the way.
        """

    def live_brokers(self) -> set[int]:
        """Those that clients are told of; empty while nobody answers."""

    def log_end(self, broker: int, topic: str, partition: int) -> int:
        """The end of the replica's log on this broker, leader or not."""

    def wait(
        self,
        condition: Callable[[], Result],
        timeout_s: float = 60.0,
        what: str = "",
    ) -> Result:
        """Ask until the answer is true; that answer.  TimeoutError with `what` and the brokers'
        last lines if it does not come."""

    def wait_in_sync(self, topic: str, timeout_s: float = 60.0) -> None:
        """Every partition has a leader, and all replicas are in sync."""

    def traffic(self) -> Traffic:
        """What has passed through the relays so far; a copy."""

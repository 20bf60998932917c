"""The brokers that are compared, with what each of them can do."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from harness.apache import STOCK_JVM, ApacheBroker
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker
from harness.clusters import ApacheCluster, BarnabasCluster, Cluster
from harness.processes import Child
from programs import compile_c

MOCK_TOPICS = {1: "one", 6: "six"}
STARTED = re.compile(r"started (\S+:\d+)")


class MockBroker(Broker):
    """librdkafka's mock cluster in a process of its own: in memory, keeps only the newest 5 MB."""

    name = "mock"

    def start(self) -> None:
        program = compile_c("mock", "rdkafka")
        assert program is not None
        topics = [f"{name}:{partitions}" for partitions, name in MOCK_TOPICS.items()]
        log_path = self.folder / "mock.log"
        log_path.unlink(missing_ok=True)
        self.child = Child([program, *topics], log_path=log_path, cwd=self.folder)
        self.ready_after = self.child.wait_until(self._is_up, what="Metadata answer", seconds=20)

    def _is_up(self) -> bool:
        found = STARTED.search(self.child.log_text())
        if found is None:
            return False
        self.bootstrap = found[1]
        return self.answers()


class Target(ABC):
    """One kind of broker; `label` heads its column in the table."""

    name: str
    label: str
    keeps_records = True
    speaks_java = True
    has_groups = True
    has_clusters = True

    @abstractmethod
    def new_broker(self, folder: Path, *, ulimit_files: int | None = None) -> Broker:
        """Not started yet."""

    @abstractmethod
    def new_cluster(self, folder: Path) -> Cluster:
        """Three brokers, not started yet."""

    @contextmanager
    def running(self, folder: Path, *, ulimit_files: int | None = None) -> Iterator[Broker]:
        broker = self.new_broker(folder, ulimit_files=ulimit_files)
        try:
            broker.start()
            yield broker
            broker.stop()
        finally:
            broker.discard()

    _numbers = count()

    def new_topic(self, broker: Broker, partitions: int) -> str:
        """A topic that nobody wrote to yet, with a leader for every partition."""
        name = f"bench-{next(self._numbers)}"
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = admin.list_topics(name, timeout=10).topics[name].partitions.values()
            if len(found) == partitions and all(one.leader >= 0 for one in found):
                return name
        raise TimeoutError(f"{broker.name} does not show the new topic {name}")

    def drop_topic(self, broker: Broker, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.delete_topics([topic])[topic].result(30)


class Apache(Target):
    name = "apache"
    label = "Apache Kafka"

    def new_broker(self, folder: Path, *, ulimit_files: int | None = None) -> Broker:
        return ApacheBroker(folder, jvm=STOCK_JVM, release=None, ulimit_files=ulimit_files)

    def new_cluster(self, folder: Path) -> Cluster:
        return ApacheCluster(folder, jvm=STOCK_JVM, release=None)


class Barnabas(Target):
    name = "barnabas"
    label = "Barnabas"

    def new_broker(self, folder: Path, *, ulimit_files: int | None = None) -> Broker:
        return BarnabasBroker(folder, fixed_port=True, ulimit_files=ulimit_files)

    def new_cluster(self, folder: Path) -> Cluster:
        return BarnabasCluster(folder)


class Mock(Target):
    """Its topics are made when it starts, and the Java client cannot talk to it.

    It has groups, but none of KIP-848 and no commits that last: they are not compared.
    """

    name = "mock"
    label = "librdkafka mock"
    keeps_records = False
    speaks_java = False
    has_groups = False
    has_clusters = False

    def new_broker(self, folder: Path, *, ulimit_files: int | None = None) -> Broker:
        return MockBroker(folder)

    def new_cluster(self, folder: Path) -> Cluster:
        raise AssertionError("it makes no clusters")

    def new_topic(self, broker: Broker, partitions: int) -> str:
        return MOCK_TOPICS[partitions]

    def drop_topic(self, broker: Broker, topic: str) -> None:
        """Kept: it holds 5 MB at most."""


def available() -> list[Target]:
    """The mock only where it can be compiled."""
    targets: list[Target] = [Apache(), Barnabas()]
    if compile_c("mock", "rdkafka") is not None:
        targets.append(Mock())
    return targets

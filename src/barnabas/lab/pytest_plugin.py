"""Fixtures for tests of applications: `pip install "barnabas[testing]"`, and pytest has them.

    def test_orders(kafka, history, assert_delivery):
        topic = kafka.topic("orders")
        ...
        assert_delivery("exactly_once")

Brokers are real processes on free ports, one for each worker of pytest-xdist; they are started when
the first test asks, and are gone with the session however it ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from barnabas.lab.cluster.base import Cluster
    from barnabas.lab.cluster.cluster import LabCluster
    from barnabas.lab.faults.faults import Faults
    from barnabas.lab.testing.delivery import DeliveryAssertion
    from barnabas.lab.testing.kafka import Kafka
    from barnabas.lab.testing.recorder import Recorder
    from barnabas.lab.verdict.records import StoredRecord

BOOTSTRAP = "KAFKA_BOOTSTRAP"
"""Environment: the address of a cluster to test against, in place of the option."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("kafka").addoption(
        "--kafka-bootstrap",
        metavar="HOST:PORT",
        default=os.environ.get(BOOTSTRAP),
        help="Test against this Kafka cluster, not against a broker of the tests' own "
        f"(or set {BOOTSTRAP}).",
    )


@pytest.fixture(scope="session")
def kafka_broker(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The cluster behind `kafka`: one broker for the session, or that of --kafka-bootstrap."""
    bootstrap = request.config.getoption("--kafka-bootstrap")
    made: Cluster
    if bootstrap:
        from barnabas.lab.cluster.outside import OutsideCluster

        made = OutsideCluster(bootstrap)
    else:
        from barnabas.lab.cluster.cluster import LabCluster

        made = LabCluster()
    with made as cluster:
        yield cluster


@pytest.fixture
def kafka(kafka_broker: Cluster) -> Iterator[Kafka]:
    """A broker, and topics and groups of the test's own."""
    from barnabas.lab.testing.kafka import Kafka

    mine = Kafka(kafka_broker)
    yield mine
    mine.close()


class Clusters:
    """`kafka_cluster(brokers=3)`: clusters for one test alone."""

    def __init__(self) -> None:
        self.made: list[LabCluster] = []

    def __call__(self, brokers: int = 3, **options: Any) -> LabCluster:
        """Start a cluster; the options are those of `LabCluster`."""
        from barnabas.lab.cluster.cluster import LabCluster

        cluster = LabCluster(brokers, **options)
        cluster.__enter__()
        self.made.append(cluster)
        return cluster

    def close(self) -> None:
        """All of them, the last one first; what goes wrong with one keeps no other running."""
        made, self.made = self.made, []
        with ExitStack() as stack:
            for cluster in made:
                stack.callback(cluster.__exit__, None, None, None)


@pytest.fixture
def kafka_cluster() -> Iterator[Clusters]:
    """A function that starts a cluster; it is gone after the test."""
    clusters = Clusters()
    try:
        yield clusters
    finally:
        clusters.close()


class _FaultsOfTheTest:
    """Those of the cluster that the test started last; without one, of the broker of `kafka`."""

    def __init__(self, clusters: Clusters | None, broker: Callable[[], Cluster]) -> None:
        self._clusters = clusters
        self._broker = broker

    def __getattr__(self, name: str) -> Any:
        made = self._clusters.made if self._clusters is not None else []
        return getattr(made[-1].faults if made else self._broker().faults, name)


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> Iterator[Faults]:
    """What can be broken; all of it is whole again after the test."""
    clusters = None
    if "kafka_cluster" in request.fixturenames:
        clusters = request.getfixturevalue("kafka_cluster")
    of_test = _FaultsOfTheTest(clusters, lambda: request.getfixturevalue("kafka_broker"))
    yield cast("Faults", of_test)
    if clusters is None:
        of_test.lift_all()


@pytest.fixture
def history() -> Recorder:
    """What the application sent and processed: `sent`, `delivered`, `processed`."""
    from barnabas.lab.testing.recorder import Recorder

    return Recorder()


@pytest.fixture
def assert_delivery(request: pytest.FixtureRequest, history: Recorder) -> DeliveryAssertion:
    """`assert_delivery("at_least_once")`, `"at_most_once"`, `"exactly_once"`: judges `history`."""
    from barnabas.lab.programs.reading import read_topic
    from barnabas.lab.testing.delivery import DeliveryAssertion

    clusters: Clusters | None = None
    if "kafka_cluster" in request.fixturenames:
        clusters = request.getfixturevalue("kafka_cluster")

    def bootstrap() -> str:
        if clusters is not None and clusters.made:
            return clusters.made[-1].bootstrap
        broker: Cluster = request.getfixturevalue("kafka_broker")
        return broker.bootstrap

    def read(topic: str, *, committed_only: bool) -> list[StoredRecord]:
        servers = {"bootstrap.servers": bootstrap()}
        return read_topic(servers, topic, committed_only=committed_only)

    return DeliveryAssertion(history, read)

"""Brokers and clients for the conformance tests.

`target` makes a test run once against Apache Kafka (is the test itself right?) and once against
Barnabas. CONFORMANCE_TARGETS=apache or =barnabas limits it to one of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # makes `harness` importable, also for the modules collected here

from harness.apache import ApacheBroker  # noqa: E402
from harness.barnabas import BarnabasBroker  # noqa: E402
from harness.brokers import Broker  # noqa: E402
from harness.clients import Client, JavaClient, NodeClient, start_node  # noqa: E402
from harness.clusters import BarnabasCluster  # noqa: E402
from harness.jvm import Jvm  # noqa: E402
from harness.lines import LineProcess  # noqa: E402
from harness.targets import TARGETS  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.conformance)


def _running(broker: Broker) -> Iterator[Broker]:
    try:
        broker.start()
        yield broker
    finally:
        broker.discard()


@pytest.fixture(scope="session")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Apache Kafka, shared by the tests of one worker: use topic names of your own."""
    yield from _running(ApacheBroker(tmp_path_factory.mktemp("apache")))


@pytest.fixture(scope="session")
def barnabas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Our broker, shared likewise."""
    yield from _running(BarnabasBroker(tmp_path_factory.mktemp("barnabas")))


@pytest.fixture(scope="module")
def barnabas_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasCluster]:
    """Three of our brokers and a controller that is a process of its own."""
    made = BarnabasCluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.discard()


@pytest.fixture(scope="session", params=TARGETS)
def target(request: pytest.FixtureRequest) -> Broker:
    broker: Broker = request.getfixturevalue(request.param)
    return broker


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[[type[Broker], str], Broker]]:
    """Start a broker of the test's own: `launch(ApacheBroker, "folder")`; ended with the test."""
    started: list[Broker] = []

    def launch_one(kind: type[Broker], folder: str, **settings: str) -> Broker:
        broker = kind(tmp_path / folder, {k.replace("_", "."): v for k, v in settings.items()})
        started.append(broker)
        broker.start()
        return broker

    yield launch_one
    for broker in started:
        broker.discard()


@pytest.fixture(scope="session")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jvm]:
    """The warm JVM with Kafka's tools and Java client."""
    with Jvm(tmp_path_factory.mktemp("jvm") / "jvm.log") as running:
        yield running


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LineProcess]:
    """The program with kafkajs in it."""
    with start_node(tmp_path_factory.mktemp("node") / "node.log") as running:
        yield running


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark with our data source and with its own Kafka connector."""
    from harness.spark import session

    made = session()
    yield made
    made.stop()


@pytest.fixture(params=["java", "kafkajs"])
def client(request: pytest.FixtureRequest, target: Broker) -> Client:
    """Each client library in turn, against the target."""
    if request.param == "java":
        return JavaClient(request.getfixturevalue("jvm"), target)
    return NodeClient(request.getfixturevalue("node"), target)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return f"{name[:180]}-{os.urandom(4).hex()}"

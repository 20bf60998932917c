"""The pytest plugin as a project uses it: its fixtures, and the example whose test finds a bug."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer

from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.cluster.outside import OutsideCluster
from barnabas.lab.faults.fault import NotPossible
from barnabas.lab.faults.faults import Faults
from barnabas.lab.pytest_plugin import Clusters
from barnabas.lab.testing.delivery import DeliveryAssertion
from barnabas.lab.testing.kafka import Kafka
from barnabas.lab.testing.recorder import Recorder

EXAMPLE = Path(__file__).parents[2] / "examples" / "pytest-app"
RUN_S = 240


def run_pytest(folder: Path, *arguments: str) -> str:
    """What pytest prints; whether tests fail is for the caller to look at."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    return ran.stdout + ran.stderr


def check_example(output: str) -> None:
    assert "1 failed, 2 passed" in output, output
    assert "FAILED" in output
    assert "HastyOrders" in output
    assert "not at least once: 12 lost, 0 duplicated" in output
    named = re.findall(r"orders-\w+-0 offset (\d+) key order-(\d+) \(unseen|poll skip\)", output)
    assert {key for _, key in named} >= {"8"}, output


def test_the_example_fails_where_its_bug_is_and_names_the_lost_orders() -> None:
    check_example(run_pytest(EXAMPLE))


def test_the_example_runs_against_another_cluster_by_its_address() -> None:
    """Here another one of ours; Apache Kafka's turn is in the conformance tests."""
    with LabCluster() as elsewhere:
        check_example(run_pytest(EXAMPLE, "--kafka-bootstrap", elsewhere.bootstrap))


def test_topics_and_groups_are_the_tests_own(kafka: Kafka) -> None:
    first, second = kafka.topic("t", 2), kafka.topic("t")

    assert first != second
    assert first.startswith("t-")
    assert len(kafka.cluster.view(first)) == 2
    assert kafka.group("g") != kafka.group("g")


def test_any_client_library_and_deserializer_is_judged(
    kafka: Kafka, history: Recorder, assert_delivery: DeliveryAssertion
) -> None:
    topic = kafka.topic("t")
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    for number in range(5):
        producer.send(topic, str(number).encode(), str(number).encode())
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=int,
    )
    for _ in range(4):
        history.processed(next(consumer))
    consumer.close()

    assert_delivery("at_most_once")
    with pytest.raises(AssertionError, match="key 4 "):
        assert_delivery("at_least_once")


def test_faults_are_those_of_the_cluster_that_the_test_started(
    kafka_cluster: Clusters, faults: Faults
) -> None:
    cluster = kafka_cluster(brokers=2)

    with faults.cut(1, 2):
        assert cluster.faults.made[-1].text == "cut 1 from 2"


def test_what_needs_the_inside_of_a_broker_is_not_possible_from_outside(kafka: Kafka) -> None:
    with OutsideCluster(kafka.bootstrap) as outside:
        outside.create_topic(kafka.group("outside"))
        assert outside.live_brokers() == {1}
        with pytest.raises(NotPossible):
            outside.faults.full_disk(1)
        with pytest.raises(NotPossible):
            outside.faults.isolate(1)
        with pytest.raises(NotPossible):
            outside.faults.hold_replication("t", 0, 0)

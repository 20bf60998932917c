"""The pytest plugin as a project uses it: its fixtures, and the example whose test finds a bug."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Producer
from example_app import check_example
from kafka import KafkaConsumer, KafkaProducer
from kafka.serializer import Deserializer
from quick_clients import PATIENCE_S

from barnabas.lab.cluster.base import Cluster
from barnabas.lab.cluster.outside import OutsideCluster
from barnabas.lab.faults.fault import NotPossible
from barnabas.lab.faults.faults import Faults
from barnabas.lab.pytest_plugin import Clusters
from barnabas.lab.testing.delivery import DeliveryAssertion
from barnabas.lab.testing.kafka import Kafka
from barnabas.lab.testing.recorder import Recorder


def test_the_example_fails_where_its_bug_is_and_names_the_lost_orders() -> None:
    check_example()


def test_topics_and_groups_are_the_tests_own(kafka: Kafka) -> None:
    first, second = kafka.topic("t", 2), kafka.topic("t")

    assert first != second
    assert first.startswith("t-")
    assert len(kafka.cluster.view(first)) == 2
    assert kafka.group("g") != kafka.group("g")


@pytest.mark.parametrize("way", ["freeze", "kill", "stop", "ask to stop"])
def test_the_broker_of_the_session_runs_after_each_test(kafka_broker: Cluster, way: str) -> None:
    one_test = Kafka(kafka_broker)
    topic = one_test.topic("t")
    broker = kafka_broker.brokers[1]
    ways = {"freeze": broker.freeze, "kill": broker.kill, "stop": broker.stop}
    ways.get(way, lambda: broker.stop(wait=False))()
    one_test.close()

    assert broker.running
    assert not broker.frozen
    assert not kafka_broker.view(topic)
    the_next = Kafka(kafka_broker)
    the_next.topic("t")
    the_next.close()


class Numbers(Deserializer):
    def deserialize(self, topic: str, headers: object, data: bytes) -> int:
        return int(data)


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
        value_deserializer=Numbers(),
    )
    for _ in range(4):
        history.processed(next(consumer))
    consumer.close()

    assert_delivery("at_most_once")
    with pytest.raises(AssertionError, match="key 4 "):
        assert_delivery("at_least_once")


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_nobody_loses_what_was_aborted(
    kafka: Kafka, history: Recorder, assert_delivery: DeliveryAssertion, level: str
) -> None:
    topic = kafka.topic("t")
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": kafka.group("writer")}
    )
    producer.init_transactions(PATIENCE_S)
    ends = (b"bad", producer.abort_transaction), (b"good", producer.commit_transaction)
    for value, end in ends:
        producer.begin_transaction()
        producer.produce(topic, value, b"k")
        producer.flush(PATIENCE_S)
        end(PATIENCE_S)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset="earliest",
        isolation_level=level,
    )
    while (record := next(consumer)).value != b"good":
        history.processed(record)
    history.processed(record)
    consumer.close()

    assert assert_delivery("exactly_once").received == (1 if level == "read_committed" else 2)


def test_a_test_may_be_asynchronous(
    kafka: Kafka, history: Recorder, assert_delivery: DeliveryAssertion
) -> None:
    topic = kafka.topic("t", 3)

    async def produce_and_consume() -> None:
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
            for number in range(10):
                await producer.send_and_wait(topic, b"v", key=str(number).encode())
        async with AIOKafkaConsumer(
            topic, bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            for _ in range(10):
                history.processed(await consumer.getone())

    asyncio.run(produce_and_consume())

    assert assert_delivery("exactly_once").received == 10


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

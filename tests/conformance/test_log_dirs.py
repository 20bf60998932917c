"""Apache Kafka's tools move replicas between the log directories of our broker as of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from harness import transcript as tools
from harness.apache import ApacheBroker
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker
from harness.jvm import Jvm
from harness.transcript import Step, run_step, step, transcript

B = "--bootstrap-server {bootstrap}"
PARTITIONS = 3
RECORDS = 3_000
Launch = Callable[..., Broker]


def launch_with_two(launch: Launch, kind: type[Broker], folder: Path) -> Broker:
    """`first` and `second` are below the broker's data directory, where texts are compared."""
    data = folder / kind.name / "data"
    return launch(
        kind,
        kind.name,
        log_dirs=f"{data}/first,{data}/second",
        metadata_log_dir=str(data),
        group_initial_rebalance_delay_ms="0",
    )


def plan(broker: Broker, path: Path, topic: str, directory: str) -> str:
    """A file as ReassignPartitionsCommand reads it: every partition in one directory."""
    where = directory if directory == "any" else f"{broker.data_dir}/{directory}"
    partitions = [
        {"topic": topic, "partition": index, "replicas": [1], "log_dirs": [where]}
        for index in range(PARTITIONS)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def produce(broker: Broker, topic: str, first: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    failed: list[object] = []
    for number in range(first, first + count):
        producer.produce(
            topic,
            b"%d" % number,
            partition=number % PARTITIONS,
            on_delivery=lambda error, message: failed.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert failed == []


def consume(broker: Broker, topic: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "-"})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    try:
        messages = consumer.consume(count, timeout=60)
        return sorted(int(message.value() or b"-1") for message in messages)
    finally:
        consumer.close()


def verify(path: str) -> Step:
    return step(tools.REASSIGN, f"{B} --reassignment-json-file {path} --verify")


def await_moved(jvm: Jvm, broker: Broker, path: str) -> None:
    while "is still in progress" in run_step(jvm, broker, verify(path)).out:
        pass  # each look is a round trip; the test's own time limit bounds it


def directories(broker: Broker, topic: str) -> set[str]:
    return {path.parent.name for path in broker.data_dir.glob(f"*/{topic}-[0-9]")}


@pytest.fixture
def brokers(launch: Launch, tmp_path: Path) -> list[Broker]:
    """Apache Kafka's first."""
    return [launch_with_two(launch, kind, tmp_path) for kind in (ApacheBroker, BarnabasBroker)]


def test_replicas_are_moved_between_directories_alike(
    jvm: Jvm, brokers: list[Broker], tmp_path: Path
) -> None:
    told = []
    for broker in brokers:
        create = f"{B} --create --topic t --partitions {PARTITIONS} --replication-factor 1"
        assert run_step(jvm, broker, step(tools.TOPICS, create)).status == 0
        produce(broker, "t", 0, RECORDS)
        there = plan(broker, tmp_path / "plan.json", "t", "second")
        execute = step(tools.REASSIGN, f"{B} --reassignment-json-file {there} --execute")
        text = transcript(jvm, broker, [execute])
        produce(broker, "t", RECORDS, RECORDS)
        await_moved(jvm, broker, there)
        nowhere = plan(broker, tmp_path / "nowhere.json", "t", "third")
        refused = step(tools.REASSIGN, f"{B} --reassignment-json-file {nowhere} --execute")
        text += transcript(jvm, broker, [verify(there), verify(nowhere)])
        told.append(text)
        assert run_step(jvm, broker, refused).status != 0
        produce(broker, "t", 2 * RECORDS, RECORDS)
        assert consume(broker, "t", 3 * RECORDS) == list(range(3 * RECORDS))
    assert told[1] == told[0]


def test_moved_replicas_are_where_they_were_moved_to_after_a_restart(
    jvm: Jvm, launch: Launch, tmp_path: Path
) -> None:
    broker = launch_with_two(launch, BarnabasBroker, tmp_path)
    create = f"{B} --create --topic t --partitions {PARTITIONS} --replication-factor 1"
    assert run_step(jvm, broker, step(tools.TOPICS, create)).status == 0
    assert directories(broker, "t") == {"first", "second"}
    produce(broker, "t", 0, RECORDS)
    for number, directory in enumerate(("first", "second"), start=1):
        path = plan(broker, tmp_path / "plan.json", "t", directory)
        execute = step(tools.REASSIGN, f"{B} --reassignment-json-file {path} --execute")
        assert run_step(jvm, broker, execute).status == 0
        await_moved(jvm, broker, path)
        assert directories(broker, "t") == {directory}
        produce(broker, "t", number * RECORDS, RECORDS)
        broker.kill() if number == 1 else broker.stop()
        broker.start()
        expected = (number + 1) * RECORDS
        assert consume(broker, "t", expected) == list(range(expected))
        assert directories(broker, "t") == {directory}

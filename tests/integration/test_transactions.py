"""Transactions over real sockets: all or nothing for readers, whatever happens to the producer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec
from eventually import eventually

PATIENCE_S = 40
QUICK = (
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=100",
    "group.initial.rebalance.delay.ms=0",
)
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def quick_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    with BarnabasProcess(tmp_path_factory.mktemp("transactions"), *QUICK) as process:
        yield process


@pytest.fixture
def topic(quick_broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    create_topics(quick_broker.bootstrap, name, partitions=2)
    return name


def producer(broker: BarnabasProcess, name: str, **config: Any) -> Producer:
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "transactional.id": name,
        "linger.ms": 0,
        **{key.replace("_", "."): value for key, value in config.items()},
    }
    made = Producer(settings)
    made.init_transactions(PATIENCE_S)
    return made


def send(made: Producer, topic: str, *values: str) -> None:
    """One after the other to both partitions; returns when the broker has them."""
    for number, value in enumerate(values):
        made.produce(topic, value, partition=number % 2)
    assert made.flush(PATIENCE_S) == 0


def stable_ends(broker: BarnabasProcess, topic: str, isolation: IsolationLevel) -> list[int]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    asked = {TopicPartition(topic, index): OffsetSpec.latest() for index in range(2)}
    found = admin.list_offsets(asked, isolation_level=isolation)
    return [found[where].result(PATIENCE_S).offset for where in asked]


def read(
    broker: BarnabasProcess,
    topic: str,
    isolation: str = "read_committed",
    until: list[int] | None = None,
) -> list[str]:
    """Everything up to the present end, as a reader of that isolation sees it; sorted."""
    level = IsolationLevel.READ_COMMITTED
    if isolation == "read_uncommitted":
        level = IsolationLevel.READ_UNCOMMITTED
    ends = until or stable_ends(broker, topic, level)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reads-by-assignment",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    values = []
    try:
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(2)])
        left = {index for index, end in enumerate(ends) if end}
        give_up = time.monotonic() + PATIENCE_S
        while left:
            assert time.monotonic() < give_up, (left, values)
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is None:
                values.append(message.value().decode())
            elif error.code() == KafkaError._PARTITION_EOF:
                if message.offset() >= ends[message.partition()]:
                    left.discard(message.partition())
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
    return sorted(values)


def test_committed_records_are_seen_by_all(quick_broker: BarnabasProcess, topic: str) -> None:
    writer = producer(quick_broker, topic)
    for round_ in range(3):
        writer.begin_transaction()
        send(writer, topic, f"a{round_}", f"b{round_}")
        writer.commit_transaction(PATIENCE_S)
    expected = ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert read(quick_broker, topic) == expected
    assert read(quick_broker, topic, "read_uncommitted") == expected


def test_aborted_records_are_seen_only_by_readers_who_do_not_care(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    writer = producer(quick_broker, topic)
    for name, commit in (("a", True), ("b", False), ("c", True), ("d", False)):
        writer.begin_transaction()
        send(writer, topic, f"{name}0", f"{name}1")
        if commit:
            writer.commit_transaction(PATIENCE_S)
        else:
            writer.abort_transaction(PATIENCE_S)
    assert read(quick_broker, topic) == ["a0", "a1", "c0", "c1"]
    everything = ["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"]
    assert read(quick_broker, topic, "read_uncommitted") == everything


def test_an_open_transaction_holds_back_the_last_stable_offset(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    plain = Producer({"bootstrap.servers": quick_broker.bootstrap})
    send(plain, topic, "before0", "before1")
    writer = producer(quick_broker, topic)
    writer.begin_transaction()
    send(writer, topic, "open0", "open1")
    send(plain, topic, "after0", "after1")
    committed, uncommitted = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
    assert stable_ends(quick_broker, topic, committed) == [1, 1]
    assert stable_ends(quick_broker, topic, uncommitted) == [3, 3]
    assert read(quick_broker, topic) == ["before0", "before1"]
    writer.commit_transaction(PATIENCE_S)
    eventually(lambda: stable_ends(quick_broker, topic, committed) == [4, 4])
    assert len(read(quick_broker, topic)) == 6


def test_a_zombie_is_fenced_and_its_transaction_aborted(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    zombie = producer(quick_broker, topic)
    zombie.begin_transaction()
    send(zombie, topic, "zombie0", "zombie1")
    successor = producer(quick_broker, topic)
    successor.begin_transaction()
    send(successor, topic, "successor0", "successor1")
    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(PATIENCE_S)
    assert caught.value.args[0].fatal()
    assert caught.value.args[0].code() in {KafkaError._FENCED, KafkaError.PRODUCER_FENCED}
    successor.commit_transaction(PATIENCE_S)
    assert read(quick_broker, topic) == ["successor0", "successor1"]


def test_a_transaction_left_open_is_aborted_after_its_timeout(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    writer = producer(quick_broker, topic, transaction_timeout_ms=5000)
    writer.begin_transaction()
    send(writer, topic, "late0", "late1")
    level = IsolationLevel.READ_COMMITTED
    assert stable_ends(quick_broker, topic, level) == [0, 0]
    eventually(lambda: stable_ends(quick_broker, topic, level) == [2, 2])
    assert read(quick_broker, topic) == []
    with pytest.raises(KafkaException):
        writer.commit_transaction(PATIENCE_S)


def group_consumer(broker: BarnabasProcess, group: str, topic: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    return consumer


def consume(consumer: Consumer, count: int) -> list[str]:
    found: list[str] = []
    give_up = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < give_up, found
        for message in consumer.consume(count - len(found), timeout=0.2):
            assert message.error() is None, message.error()
            found.append(message.value().decode())
    return found


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_positions_sent_to_a_transaction_count_if_it_commits(
    quick_broker: BarnabasProcess, topic: str, topic_name: Callable[[], str], commit: bool
) -> None:
    output = topic_name()
    create_topics(quick_broker.bootstrap, output, partitions=2)
    send(Producer({"bootstrap.servers": quick_broker.bootstrap}), topic, "in0", "in1")
    consumer = group_consumer(quick_broker, topic, topic)
    try:
        taken = consume(consumer, 2)
        worker = producer(quick_broker, topic)
        worker.begin_transaction()
        send(worker, output, *(value.replace("in", "out") for value in taken))
        positions = consumer.position(consumer.assignment())
        metadata = consumer.consumer_group_metadata()
        worker.send_offsets_to_transaction(positions, metadata, PATIENCE_S)
        (worker.commit_transaction if commit else worker.abort_transaction)(PATIENCE_S)
        committed = consumer.committed([TopicPartition(topic, i) for i in range(2)], PATIENCE_S)
    finally:
        consumer.close()
    assert [where.offset for where in committed] == ([1, 1] if commit else [-1001, -1001])
    assert read(quick_broker, output) == (["out0", "out1"] if commit else [])


def test_a_killed_broker_finishes_what_was_decided_and_aborts_the_rest(
    tmp_path: Path, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    broker = BarnabasProcess(tmp_path, *QUICK)
    with broker:
        create_topics(broker.bootstrap, topic, partitions=2)
        writer = producer(broker, "killed", transaction_timeout_ms=60_000)
        writer.begin_transaction()
        send(writer, topic, "done0", "done1")
        writer.commit_transaction(PATIENCE_S)
        writer.begin_transaction()
        send(writer, topic, "open0", "open1")
        broker.kill()
        broker.start(same_port=True)
        assert read(broker, topic) == ["done0", "done1"]
        writer.commit_transaction(PATIENCE_S)
        assert read(broker, topic) == ["done0", "done1", "open0", "open1"]
        writer.begin_transaction()
        send(writer, topic, "lost0", "lost1")
        broker.kill()
        broker.start(same_port=True)
        successor = producer(broker, "killed")
        successor.begin_transaction()
        send(successor, topic, "next0", "next1")
        successor.commit_transaction(PATIENCE_S)
        expected = ["done0", "done1", "next0", "next1", "open0", "open1"]
        assert read(broker, topic) == expected

"""Transactional producers of the Python libraries that are written in Python."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.errors import InvalidProducerEpoch, ProducerFenced
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

PATIENCE_S = 40


def test_kafka_python_commits_aborts_and_sends_offsets(
    broker: BarnabasProcess, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    create_topics(broker.bootstrap, topic)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic)
    try:
        producer.init_transactions()
        for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
            producer.begin_transaction()
            producer.send(topic, value, partition=0).get(PATIENCE_S)
            if commit:
                position = {TopicPartition(topic, 0): OffsetAndMetadata(value[0], "", -1)}
                producer.send_offsets_to_transaction(position, topic)
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    finally:
        producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id=topic,
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    try:
        where = TopicPartition(topic, 0)
        consumer.assign([where])
        assert consumer.committed(where) == ord("c")
        consumer.seek_to_beginning(where)
        found: list[bytes] = []
        while consumer.position(where) < 6:
            for records in consumer.poll(timeout_ms=200).values():
                found += [record.value for record in records]
        assert found == [b"a", b"c"]
    finally:
        consumer.close()


def test_aiokafka_commits_aborts_and_sends_offsets(
    broker: BarnabasProcess, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    create_topics(broker.bootstrap, topic)
    where = AioTopicPartition(topic, 0)

    async def run() -> tuple[list[bytes], int | None]:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic)
        await producer.start()
        try:
            for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, value, partition=0)
                await producer.send_offsets_to_transaction({where: value[0]}, topic)
                await (producer.commit_transaction if commit else producer.abort_transaction)()
        finally:
            await producer.stop()
        consumer = AIOKafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            group_id=topic,
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        await consumer.start()
        try:
            consumer.assign([where])
            committed = await consumer.committed(where)
            consumer.seek(where, 0)
            found = [(await consumer.getone()).value, (await consumer.getone()).value]
        finally:
            await consumer.stop()
        return found, committed

    found, committed = asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert found == [b"a", b"c"]
    assert committed == ord("c")


@pytest.fixture(scope="module")
def quick_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    quick = "transaction.abort.timed.out.transaction.cleanup.interval.ms=100"
    with BarnabasProcess(tmp_path_factory.mktemp("transactions"), quick) as process:
        yield process


@pytest.fixture
def topic(quick_broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    create_topics(quick_broker.bootstrap, name)
    return name


@asynccontextmanager
async def aio_producer(broker: BarnabasProcess, **config: Any) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, **config)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def aio_read(
    broker: BarnabasProcess, topic: str, count: int, isolation: str = "read_committed"
) -> list[bytes | None]:
    """The first `count` records of partition 0 that a reader of that isolation sees."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        isolation_level=isolation,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        where = AioTopicPartition(topic, 0)
        consumer.assign([where])
        await consumer.seek_to_beginning(where)
        return [(await consumer.getone()).value for _ in range(count)]
    finally:
        await consumer.stop()


def finish(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE_S))


def test_aborted_records_are_seen_only_by_readers_of_aiokafka_who_do_not_care(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    async def run() -> None:
        async with aio_producer(quick_broker, transactional_id=topic) as producer:
            for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, value, partition=0)
                await (producer.commit_transaction if commit else producer.abort_transaction)()
        assert await aio_read(quick_broker, topic, 2) == [b"a", b"c"]
        everything = await aio_read(quick_broker, topic, 3, "read_uncommitted")
        assert everything == [b"a", b"b", b"c"]

    finish(run())


def test_a_zombie_of_aiokafka_is_fenced_and_its_transaction_aborted(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    async def run() -> None:
        async with aio_producer(quick_broker, transactional_id=topic) as zombie:
            await zombie.begin_transaction()
            await zombie.send_and_wait(topic, b"zombie", partition=0)
            async with aio_producer(quick_broker, transactional_id=topic) as successor:
                await successor.begin_transaction()
                await successor.send_and_wait(topic, b"successor", partition=0)
                with pytest.raises((ProducerFenced, InvalidProducerEpoch)):
                    await zombie.commit_transaction()
                await successor.commit_transaction()
        assert await aio_read(quick_broker, topic, 1) == [b"successor"]

    finish(run())


def test_a_transaction_that_aiokafka_leaves_open_is_aborted_after_its_timeout(
    quick_broker: BarnabasProcess, topic: str
) -> None:
    async def run() -> None:
        settings = {"transactional_id": topic, "transaction_timeout_ms": 1_000}
        async with aio_producer(quick_broker, **settings) as slow:
            await slow.begin_transaction()
            await slow.send_and_wait(topic, b"late", partition=0)
            async with aio_producer(quick_broker) as plain:
                await plain.send_and_wait(topic, b"after", partition=0)
            # Comes when the last stable offset has moved on, not before.
            assert await aio_read(quick_broker, topic, 1) == [b"after"]
            with pytest.raises((ProducerFenced, InvalidProducerEpoch)):
                await slow.commit_transaction()

    finish(run())

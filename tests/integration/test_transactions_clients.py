"""Transactional producers of the Python libraries that are written in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
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

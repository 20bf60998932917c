"""aiokafka against the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from barnabas_process import BarnabasProcess
from roundtrip import ACKS, Sent, sample_records

PATIENCE_S = 30


async def produce(
    broker: BarnabasProcess, topic: str, records: list[Sent], codec: str | None, acks: int | str
) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap,
        compression_type=codec,
        acks=acks,
        enable_idempotence=acks == "all",
        max_request_size=2_000_000,
    )
    await producer.start()
    try:
        waiting = [
            await producer.send(
                topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp_ms=record.timestamp_ms,
                partition=0,
            )
            for record in records
        ]
        await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_S)
    finally:
        await producer.stop()


async def consume(broker: BarnabasProcess, topic: str, count: int) -> list[Sent]:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        found: list[Sent] = []
        while len(found) < count:
            record = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
            found.append(Sent(record.key, record.value, tuple(record.headers), record.timestamp))
        return found
    finally:
        await consumer.stop()


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ACKS)
def test_records_come_back_as_they_were_sent(
    broker: BarnabasProcess, topic_name: Callable[[], str], codec: str | None, acks: int | str
) -> None:
    topic = topic_name()
    records = [r for r in sample_records() if (r.key, r.value) != (None, None)]  # it refuses those

    async def there_and_back() -> list[Sent]:
        await produce(broker, topic, records, codec, acks)
        return await consume(broker, topic, len(records))

    assert asyncio.run(there_and_back()) == records


def test_topics_are_administered(broker: BarnabasProcess, topic_name: Callable[[], str]) -> None:
    name = topic_name()

    async def administer() -> tuple[list[str], list[str]]:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, 2, 1)])
            there = await admin.list_topics()
            await admin.delete_topics([name])
            return there, await admin.list_topics()
        finally:
            await admin.close()

    there, gone = asyncio.run(administer())
    assert name in there
    assert name not in gone

"""kafka-python against the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewPartitions, NewTopic
from roundtrip import ACKS, Sent, sample_records

PATIENCE_S = 30
# kafka-python leaves the socket pair that wakes its own loop to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


def accepts(record: Sent) -> bool:
    """kafka-python sends neither a record without key and value nor a header without value."""
    if record.key is None and record.value is None:
        return False
    return all(value is not None for _, value in record.headers)


@pytest.fixture(scope="module")
def admin(broker: BarnabasProcess) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield client
    client.close()


def produce(broker: BarnabasProcess, topic: str, records: list[Sent], **config: Any) -> list[Any]:
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap, max_request_size=2_000_000, linger_ms=5, **config
    )
    try:
        futures = [
            producer.send(
                topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp_ms=record.timestamp_ms,
                partition=0,
            )
            for record in records
        ]
        return [future.get(PATIENCE_S) for future in futures]
    finally:
        producer.close()


def consume(broker: BarnabasProcess, topic: str, count: int, offset: int = 0) -> list[Any]:
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, enable_auto_commit=False)
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, offset)
        found: list[Any] = []
        while len(found) < count:
            polled = consumer.poll(timeout_ms=PATIENCE_S * 1000)
            assert polled, f"{len(found)} of {count} records came"
            found += polled[partition]
        return found
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("acks", ACKS)
def test_records_come_back_as_they_were_sent(
    broker: BarnabasProcess, topic_name: Callable[[], str], codec: str | None, acks: int | str
) -> None:
    topic = topic_name()
    records = [r for r in sample_records() if accepts(r)]

    produce(
        broker, topic, records, compression_type=codec, acks=acks, enable_idempotence=acks == "all"
    )
    found = consume(broker, topic, len(records))

    assert [
        Sent(r.key, r.value, tuple((k, v) for k, v in r.headers), r.timestamp) for r in found
    ] == records


def test_offsets_by_time_and_ends(broker: BarnabasProcess, topic_name: Callable[[], str]) -> None:
    topic, base = topic_name(), 1_700_000_000_000
    produce(broker, topic, [Sent(None, b"x", (), base + n) for n in range(300)])
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, enable_auto_commit=False)
    try:
        partition = TopicPartition(topic, 0)
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 300}
        found = consumer.offsets_for_times({partition: base + 123})[partition]
        assert (found.offset, found.timestamp) == (123, base + 123)
    finally:
        consumer.close()


def test_topics_are_administered(
    broker: BarnabasProcess, admin: KafkaAdminClient, topic_name: Callable[[], str]
) -> None:
    name = topic_name()
    admin.create_topics([NewTopic(name=name, num_partitions=2, replication_factor=1)])
    assert name in admin.list_topics()
    admin.create_partitions({name: NewPartitions(total_count=5)})
    described = admin.describe_topics([name])[0]
    assert len(described["partitions"]) == 5
    admin.delete_topics([name])
    assert name not in admin.list_topics()

"""Topics with every kind of record in them, for whoever reads them back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

READ_S = 300
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def create_topic(bootstrap: str, name: str, partitions: int = 1, **settings: str) -> str:
    """Settings with underscores for dots."""
    config = {key.replace("_", "."): value for key, value in settings.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
    admin.create_topics([new])[name].result(60)
    return name


def add_partitions(bootstrap: str, name: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(name, total)])[name].result(60)


def produce(
    bootstrap: str, topic: str, records: Iterable[Mapping[str, Any]], **settings: object
) -> None:
    """Every record is what `Producer.produce` takes; all are there when this returns."""
    config = {key.replace("_", "."): value for key, value in settings.items()}
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **config})
    for record in records:
        while True:
            try:
                producer.produce(topic, **record)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0


def mixed(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Null and empty keys and values, headers, long and short."""
    kinds: list[dict[str, Any]] = [
        {"key": b"key", "value": b"value"},
        {"key": None, "value": b"no key"},
        {"key": b"tombstone", "value": None},
        {"key": b"", "value": b""},
        {"key": "\u00fcber".encode(), "value": b"x" * 700, "headers": [("h", b"1"), ("h", None)]},
        {"key": b"k" * 100, "value": bytes(range(256)), "headers": [("", b"")]},
    ]
    records = []
    for number in range(first, first + count):
        kind = dict(kinds[number % len(kinds)])
        if kind["value"]:
            kind["value"] += b"-%d" % number
        records.append(kind)
    return records


def transact(bootstrap: str, topic: str, name: str, *runs: tuple[bool, int]) -> None:
    """Transactions of so many records each, committed or aborted, one after the other."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(60)
    for number, (is_committed, count) in enumerate(runs):
        producer.begin_transaction()
        for record in mixed(count, 1000 * number):
            producer.produce(topic, **record)
        if is_committed:
            producer.commit_transaction(60)
        else:
            producer.flush(60)
            producer.abort_transaction(60)


def committed(bootstrap: str, topic: str, partitions: int) -> Iterator[Message]:
    """All committed records that a topic has, up to the ends of all its partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    ended: set[int] = set()
    give_up = time.monotonic() + READ_S
    while len(ended) < partitions:
        assert time.monotonic() < give_up, f"partitions that did not end: {topic}, not {ended}"
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is None:
            yield message
        else:
            ended.add(message.partition())
    consumer.close()

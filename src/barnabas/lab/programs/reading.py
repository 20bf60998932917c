"""Partitions read from their start to their end, to see what is really there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.client.connect import fetch_metadata, open_consumer
from barnabas.client.errors import ClientError
from barnabas.lab.programs.messages import taken
from barnabas.lab.programs.payload_log import key_text, value_text
from barnabas.lab.verdict.records import StoredRecord

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

SILENCE_S = 30.0
"""How long nothing may come of a partition that is not read to its end."""
BATCH = 10_000
WAIT_S = 0.5
END_MS = 10
"""How long a broker keeps a reader waiting that has everything: it is to be told so, not more."""


def read_topic(
    properties: Mapping[str, str],
    topic: str,
    *,
    committed_only: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> list[StoredRecord]:
    """Every record of every partition, by partition and offset.

    Without `committed_only` records of aborted and of open transactions, too.  `ClientError` if a
    partition cannot be read to its end.
    """
    defaults: dict[str, Any] = {
        "group.id": "barnabas-lab-reading",
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": str(END_MS),
        "isolation.level": "read_committed" if committed_only else "read_uncommitted",
    }
    consumer, troubles = open_consumer(properties, defaults, warn)
    try:
        found = fetch_metadata(consumer, troubles, topic).topics[topic]
        if found.error is not None:
            raise ClientError(f"topic {topic}: {found.error.str()}")
        return _read(consumer, topic, set(found.partitions))
    finally:
        consumer.close()


def _read(consumer: Consumer, topic: str, partitions: set[int]) -> list[StoredRecord]:
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
    records: list[StoredRecord] = []
    left = set(partitions)
    last = time.monotonic()
    while left:
        first = consumer.poll(WAIT_S)
        messages = [] if first is None else [first, *consumer.consume(BATCH, 0)]
        now = time.monotonic()
        if messages:
            last = now
        elif now - last > SILENCE_S:
            raise ClientError(f"{topic}: nothing more comes of partitions {sorted(left)}")
        for message in messages:
            error = message.error()
            if error is None:
                records.append(_stored(message))
            elif error.name() == "_PARTITION_EOF":
                left.discard(message.partition())
    return sorted(records, key=lambda record: (record.partition, record.offset))


def _stored(message: Message) -> StoredRecord:
    record = taken(message)
    return StoredRecord(
        record.topic,
        record.partition,
        key_text(record.key),
        value_text(record.value),
        record.offset,
    )

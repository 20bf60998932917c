"""Reading and sending in a cluster, where the leader is not always whom one asks first."""

from __future__ import annotations

from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from eventually import eventually
from quick_clients import dotted

PATIENCE_S = 60


class Sender:
    """An idempotent producer to partition 0 of a topic; it remembers what it was told."""

    def __init__(self, bootstrap: str, topic: str = "t") -> None:
        self.acknowledged: list[bytes | None] = []
        self.errors: list[KafkaError] = []
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

    def send(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce(self._topic, value, partition=0, on_delivery=self._told)
            self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE_S) == 0, "not everything was answered"

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged.append(message.value())
        else:
            self.errors.append(error)


def read_values(bootstrap: str, topic: str = "t", **config: Any) -> list[bytes | None]:
    """The values in partition 0, from its first offset to the end it has now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "log_level": 0,
            **dotted(config),
        }
    )
    partition = TopicPartition(topic, 0, OFFSET_BEGINNING)
    try:
        _, end = eventually(lambda: _watermarks(consumer, partition), timeout_s=PATIENCE_S)
        consumer.assign([partition])
        found: list[bytes | None] = []

        def at_end() -> bool:
            for message in consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    found.append(message.value())  # noqa: PERF401
            return consumer.position([partition])[0].offset >= end

        if end:
            eventually(at_end, timeout_s=PATIENCE_S, what=f"{topic} read to {end}")
        return found
    finally:
        consumer.close()


def _watermarks(consumer: Consumer, partition: TopicPartition) -> tuple[int, int] | None:
    try:
        found: tuple[int, int] = consumer.get_watermark_offsets(partition, timeout=5)
    except KafkaException:
        return None
    return found

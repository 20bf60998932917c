"""One record at a time, out and back: the clients of `kafka-e2e-latency`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import CommandError
from barnabas.cli.printing import print_lines
from barnabas.client.connect import Troubles, fetch_metadata, open_consumer, open_producer

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, Producer

GIVE_UP_S = 60.0
WAIT_S = 0.1
"""The longest that Ctrl-C has to wait."""
PRODUCER = {"linger.ms": "0", "partitioner": "murmur2_random"}
CONSUMER = {
    "auto.offset.reset": "latest",
    "enable.auto.commit": "false",
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": "0",
    "fetch.min.bytes": "1",
    # A broker that holds an empty fetch answers it the moment a record comes, and nobody has to
    # ask ten thousand times a second meanwhile.
    "fetch.wait.max.ms": "500",
}


def _go_on() -> None:
    """There is always time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutRecord:
    value: bytes
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


@dataclass(slots=True, kw_only=True)
class RoundTrips:
    """A producer and a consumer of one topic.  One thread."""

    topic: str
    producer: Producer
    consumer: Consumer
    troubles: Sequence[Troubles]
    check: Callable[[], None] = _go_on
    """Raises if it is time to stop."""

    @classmethod
    def open(
        cls, properties: Mapping[str, str], *, topic: str, acks: str, warn: Callable[[str], None]
    ) -> RoundTrips:
        """Makes the topic if there is none, and waits until the consumer is at its end."""
        group = f"test-group-{time.time_ns() // 10**6}"
        make_topic(properties, topic, warn)
        producer, troubles = open_producer({**properties, "acks": acks}, PRODUCER, warn)
        consumer, more = open_consumer({**properties, "group.id": group}, CONSUMER, warn)
        trips = cls(topic=topic, producer=producer, consumer=consumer, troubles=(troubles, more))
        trips._go_to_end()
        return trips

    def close(self) -> None:
        self.consumer.close()

    def _go_to_end(self) -> None:
        from confluent_kafka import OFFSET_END, TopicPartition

        give_up = time.monotonic() + GIVE_UP_S
        numbers: list[int] = []
        while not numbers:  # a topic that was made just now may not be known everywhere
            metadata = fetch_metadata(self.consumer, self.troubles[1], self.topic)
            numbers = sorted(metadata.topics[self.topic].partitions)
            if time.monotonic() > give_up:
                raise CommandError(f"topic {self.topic} has no partitions")
            self.consumer.poll(0 if numbers else WAIT_S)
        self.consumer.assign([TopicPartition(self.topic, each, OFFSET_END) for each in numbers])
        waiting = set(numbers)
        while waiting:
            message = self._poll(give_up, "no answer from all partitions")
            error = message.error()
            if error is not None and error.name() == "_PARTITION_EOF":
                waiting.discard(message.partition())

    def trip(self, record: OutRecord) -> int:
        """How long a record took, in nanoseconds; `CommandError` if it did not come as it went."""
        begin = time.perf_counter_ns()
        self._send(record)
        give_up = time.monotonic() + GIVE_UP_S
        while True:
            message = self._poll(
                give_up, f"no record came back within {GIVE_UP_S:.0f} s: does anybody else read?"
            )
            elapsed = time.perf_counter_ns() - begin
            error = message.error()
            if error is None:
                check(record, message)
                return elapsed
            if error.name() != "_PARTITION_EOF":
                raise CommandError(error.str())

    def _send(self, record: OutRecord) -> None:
        failed: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            failed.append(error)

        self.producer.produce(
            self.topic,
            record.value,
            record.key,
            headers=list(record.headers) or None,
            on_delivery=delivered,
        )
        while not failed:
            self.producer.poll(WAIT_S)
            self._look()
        if failed[0] is not None:
            raise CommandError(f"a record was not sent: {failed[0].str()}")

    def _poll(self, give_up: float, why: str) -> Message:
        while True:
            message = self.consumer.poll(WAIT_S)
            if message is not None:
                return message
            self._look()
            if time.monotonic() > give_up:
                raise CommandError(why)

    def _look(self) -> None:
        self.check()
        for each in self.troubles:
            each.check()


def check(sent: OutRecord, got: Any) -> None:
    """What comes back is what was sent."""
    for what, one, other in (
        ("value", sent.value, got.value()),
        ("key", sent.key, got.key()),
        ("headers", list(sent.headers), list(got.headers() or ())),
    ):
        if one != other:
            raise CommandError(f"the {what} of the record read is not that of the record sent")


def make_topic(properties: Mapping[str, str], topic: str, warn: Callable[[str], None]) -> bool:
    """Makes the topic, with one partition on one broker, if it does not exist."""
    from barnabas.client.topic_admin import TopicAdmin

    admin = TopicAdmin.connect(properties, warn)
    if topic in admin.names():
        return False
    print_lines(
        [
            (
                f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and '
                "replication factor = 1"
            )
        ]
    )
    admin.create(topic, partitions=1, replication_factor=1)
    return True

"""Stands in for c/rdclient.c where librdkafka's headers are missing: same arguments and answers.

Python spends more time on a record than librdkafka does, so throughput is the client's, not the
broker's; the broker's CPU time is still its own.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import time

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    Producer,
    TopicPartition,
)

WARM_UP_RECORDS = 500
RATE_PER_SECOND = 1_000


class Tally:
    """Counts delivery reports."""

    def __init__(self) -> None:
        self.failed = 0

    def __call__(self, error: object, _message: object) -> None:
        self.failed += error is not None


def settings_of(bootstrap: str, pairs: list[str]) -> dict[str, str]:
    given = dict(pair.split("=", 1) for pair in pairs)
    return {"bootstrap.servers": bootstrap, "log_level": "3", **given}


def partitions_of(client: Producer | Consumer, topic: str) -> int:
    return len(client.list_topics(topic, timeout=10).topics[topic].partitions)


def report(records: int, size: int, seconds: float, failed: int) -> None:
    speed = records * size / 1e6 / seconds
    answer = {"records": records, "seconds": seconds, "mb_per_s": speed, "failed": failed}
    print(json.dumps(answer))


def send(producer: Producer, topic: str, value: bytes, partition: int, tally: Tally) -> None:
    while True:
        try:
            producer.produce(topic, value, partition=partition, on_delivery=tally)
        except BufferError:
            producer.poll(0.01)
        else:
            return


def produce(bootstrap: str, topic: str, count: int, size: int, pairs: list[str]) -> int:
    producer, tally, value = Producer(settings_of(bootstrap, pairs)), Tally(), bytes(size)
    partitions = partitions_of(producer, topic)
    start = time.perf_counter()
    for n in range(count):
        send(producer, topic, value, n % partitions, tally)
        if not n & 1023:
            producer.poll(0)
    producer.flush()
    report(count - tally.failed, size, time.perf_counter() - start, tally.failed)
    return tally.failed


def consumer_at(bootstrap: str, topic: str, offset: int, pairs: list[str]) -> Consumer:
    settings = {**settings_of(bootstrap, pairs), "group.id": "bench", "enable.auto.commit": "false"}
    consumer = Consumer({**settings, "enable.partition.eof": "true"})
    partitions = range(partitions_of(consumer, topic))
    consumer.assign([TopicPartition(topic, n, offset) for n in partitions])
    return consumer


def consume(bootstrap: str, topic: str, count: int, size: int, pairs: list[str]) -> int:
    consumer = consumer_at(bootstrap, topic, OFFSET_BEGINNING, pairs)
    start, seen = time.perf_counter(), 0
    while seen < count:
        messages = consumer.consume(min(10_000, count - seen), timeout=30)
        if not messages:
            raise SystemExit("nothing came for 30 s")
        seen += sum(message.error() is None for message in messages)
    report(seen, size, time.perf_counter() - start, 0)
    return 0


def latency(bootstrap: str, topic: str, count: int, size: int, pairs: list[str]) -> int:
    producer, tally = Producer(settings_of(bootstrap, pairs)), Tally()
    consumer = consumer_at(bootstrap, topic, OFFSET_END, [])
    while True:
        message = consumer.poll(30)
        if message is None:
            raise SystemExit("the consumer did not reach the end")
        if message.error() and message.error().name() == "_PARTITION_EOF":
            break
    total, delays = count + WARM_UP_RECORDS, list[float]()

    def read() -> None:
        while len(delays) < total:
            message = consumer.poll(30)
            if message is not None and message.error() is None:
                (sent,) = struct.unpack_from(">d", message.value())
                delays.append(time.perf_counter() - sent)

    reader = threading.Thread(target=read)
    reader.start()
    due, filler = time.perf_counter(), bytes(max(size - 8, 0))
    for _ in range(total):
        value = struct.pack(">d", time.perf_counter()) + filler
        send(producer, topic, value, 0, tally)
        producer.poll(0)
        due += 1 / RATE_PER_SECOND
        time.sleep(max(0.0, due - time.perf_counter()))
    reader.join()
    measured = sorted(delays[WARM_UP_RECORDS:])
    answer = {"p50_ms": measured[count // 2] * 1e3, "p99_ms": measured[count * 99 // 100] * 1e3}
    print(json.dumps({**answer, "failed": tally.failed}))
    return tally.failed


def main(arguments: list[str]) -> int:
    mode, bootstrap, topic, count, size, *pairs = arguments
    action = {"produce": produce, "consume": consume, "latency": latency}[mode]
    return action(bootstrap, topic, int(count), int(size), pairs) != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

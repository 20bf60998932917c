"""A program: kafka-python sends numbers until its input ends, idempotent, to partitions in turn.

    python soak_kafka_python.py BOOTSTRAP TOPIC FIRST PARTITIONS PAUSE_S

A process of its own, as the library leaves sockets behind that it could not connect.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Any

from kafka import KafkaProducer

PATIENCE_S = 120


def main(bootstrap: str, topic: str, first: str, partitions: str, pause_s: str) -> None:
    over = threading.Event()
    threading.Thread(target=await_end, args=(over,), daemon=True).start()
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","),
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        delivery_timeout_ms=PATIENCE_S * 1000,
    )
    value = int(first)
    while not over.wait(float(pause_s)):
        partition = (value - int(first)) % int(partitions)
        sent = producer.send(topic, b"%d" % value, partition=partition)
        sent.add_callback(partial(acknowledged, value, partition))
        sent.add_errback(partial(failed, value, partition))
        value += 1
    producer.flush(timeout=PATIENCE_S)
    producer.close()


def await_end(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def acknowledged(value: int, partition: int, metadata: Any) -> None:
    print(value, partition, metadata.offset, flush=True)


def failed(value: int, partition: int, error: Exception) -> None:
    print(value, partition, -1, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

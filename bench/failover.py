"""A producer that never stops sending while a broker dies: how long nobody is acknowledged.

A process of its own, so that the interpreter of the benchmark cannot be the one that is late:

    python failover.py BOOTSTRAP TOPIC

prints `ready` once records are acknowledged, reads a line (the broker is being killed now), and
answers with one line of JSON when records that were sent after it are acknowledged.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from confluent_kafka import KafkaError, Message, Producer

RECORDS_PER_S = 1_000
PATIENCE_S = 120
VALUE = bytes(100)


class Acknowledged:
    """When the first record that was sent after the kill was acknowledged."""

    def __init__(self) -> None:
        self.count = 0
        self.killed_at: float | None = None
        self.again_at: float | None = None
        self.errors: list[str] = []

    def told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error.name())
            return
        self.count += 1
        sent_at = time.monotonic() - (message.latency() or 0.0)
        if self.killed_at is not None and self.again_at is None and sent_at > self.killed_at:
            self.again_at = time.monotonic()


def main(bootstrap: str, topic: str) -> int:
    settings = {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True}
    producer = Producer(settings)
    seen = Acknowledged()
    deadline = time.monotonic() + PATIENCE_S
    is_told = threading.Event()

    def wait_for_kill() -> None:
        sys.stdin.readline()
        seen.killed_at = time.monotonic()

    while seen.again_at is None and time.monotonic() < deadline:
        producer.produce(topic, VALUE, on_delivery=seen.told)
        producer.poll(1 / RECORDS_PER_S)
        if seen.count > RECORDS_PER_S and not is_told.is_set():
            is_told.set()
            print("ready", flush=True)
            threading.Thread(target=wait_for_kill, daemon=True).start()
    producer.flush(30)
    if seen.again_at is None or seen.killed_at is None:
        print(json.dumps({"failed": f"{seen.count} acknowledged, {seen.errors[:3]}"}), flush=True)
        return 1
    took = seen.again_at - seen.killed_at
    print(json.dumps({"failover_s": took, "errors": len(seen.errors)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

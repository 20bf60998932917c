"""kill -9 under load, again and again: nothing acknowledged may be missing afterwards.

Used by a short integration test and by `tests/soak/crash.py` for the long run.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from barnabas_process import BarnabasProcess
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "crash"
PARTITIONS = 3
BATCH_HEADER = struct.Struct(">qiibIhi")
INDEX_ENTRY = struct.Struct(">ii")


@dataclass
class Ledger:
    """What the producer was told: value by partition and offset."""

    acked: list[dict[int, bytes]] = field(default_factory=lambda: [{} for _ in range(PARTITIONS)])
    read_to: list[int] = field(default_factory=lambda: [0] * PARTITIONS)

    @property
    def total(self) -> int:
        return sum(map(len, self.acked))


def create_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {"segment.bytes": str(1024 * 1024), "index.interval.bytes": "512"}
    topic = NewTopic(TOPIC, PARTITIONS, 1, config=config)
    for created in admin.create_topics([topic]).values():
        created.result(30)


def produce_until_killed(
    process: BarnabasProcess, ledger: Ledger, rng: random.Random, name: str
) -> int:
    """Send until a randomly chosen number is acknowledged, then kill; returns how many were."""
    enough = rng.randrange(500, 6000)
    acked_now = 0

    def delivered(error: object, message: object) -> None:
        nonlocal acked_now
        if error is None:
            ledger.acked[message.partition()][message.offset()] = message.value()  # type: ignore[attr-defined]
            acked_now += 1

    producer = Producer(
        {
            "bootstrap.servers": process.bootstrap,
            "enable.idempotence": rng.random() < 0.7,
            "acks": "all",
            "linger.ms": rng.choice([0, 1, 5]),
            "compression.type": rng.choice(["none", "gzip", "snappy", "lz4", "zstd"]),
            "batch.num.messages": rng.choice([1, 10, 1000]),
            "message.timeout.ms": 20_000,
        }
    )
    sent = 0
    while acked_now < enough:
        value = f"{name}-{sent}-".encode() + rng.randbytes(rng.choice([1, 50, 400]))
        try:
            producer.produce(TOPIC, value, partition=sent % PARTITIONS, on_delivery=delivered)
            sent += 1
        except BufferError:
            producer.poll(0.1)
        producer.poll(0)
    process.kill()
    producer.purge(in_queue=True, in_flight=True)
    producer.flush(10)
    return acked_now


def verify(bootstrap: str, ledger: Ledger) -> None:
    """Every acknowledged record is at its offset, and there are no holes."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
        }
    )
    try:
        for partition in range(PARTITIONS):
            seen = _read(consumer, partition, ledger.read_to[partition])
            start = ledger.read_to[partition]
            offsets = sorted(seen)
            assert offsets == list(range(start, start + len(offsets))), "offsets are not dense"
            for offset, value in ledger.acked[partition].items():
                if offset >= start:
                    found = seen.get(offset)
                    assert found == value, f"{partition}@{offset}: {value!r} became {found!r}"
            ledger.read_to[partition] = start + len(offsets)
    finally:
        consumer.close()


def _read(consumer: Consumer, partition: int, start: int) -> dict[int, bytes]:
    low, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=30)
    assert low == 0
    seen: dict[int, bytes] = {}
    if high == start:
        return seen
    consumer.assign([TopicPartition(TOPIC, partition, start)])
    while len(seen) < high - start:
        messages = consumer.consume(min(5000, high - start - len(seen)), timeout=30)
        assert messages, f"partition {partition}: only {len(seen)} of {high - start} records came"
        for message in messages:
            if message.error() is not None:
                raise KafkaException(message.error())
            seen[message.offset()] = message.value()
    return seen


# -- damage, done to the files of a dead broker.  None of it touches an acknowledged byte.


def no_damage(data_dir: Path, rng: random.Random) -> None:
    """The crash alone."""


def tear_tail(data_dir: Path, rng: random.Random) -> None:
    """A batch that was only half written when the power went."""
    for log in _active(data_dir):
        data = log.read_bytes()
        if data:
            first = 12 + struct.unpack_from(">i", data, 8)[0]
            log.write_bytes(data + data[: rng.randrange(1, first)])


def cut_indexes(data_dir: Path, rng: random.Random) -> None:
    for index in _files(data_dir, "*index"):
        data = index.read_bytes()
        index.write_bytes(data[: rng.randrange(len(data) + 1)])


def scramble_indexes(data_dir: Path, rng: random.Random) -> None:
    for index in _files(data_dir, "*index"):
        index.write_bytes(rng.randbytes(index.stat().st_size))


def lose_indexes(data_dir: Path, rng: random.Random) -> None:
    for index in _files(data_dir, "*index"):
        index.unlink()


def lose_checkpoints(data_dir: Path, rng: random.Random) -> None:
    for checkpoint in [*data_dir.glob("*-checkpoint"), *_files(data_dir, "*checkpoint")]:
        if "__cluster_metadata" not in str(checkpoint):
            checkpoint.unlink()
    for snapshot in _files(data_dir, "*.snapshot"):
        snapshot.unlink()


DAMAGE: list[Callable[[Path, random.Random], None]] = [
    no_damage,
    tear_tail,
    cut_indexes,
    scramble_indexes,
    lose_indexes,
    lose_checkpoints,
]


def _files(data_dir: Path, pattern: str) -> list[Path]:
    return sorted(data_dir.glob(f"{TOPIC}-*/{pattern}"))


def _active(data_dir: Path) -> list[Path]:
    return [max(d.glob("*.log")) for d in sorted(data_dir.glob(f"{TOPIC}-*"))]


def check_indexes(data_dir: Path) -> int:
    """After a clean stop: each index entry points at the batch that holds its offset."""
    checked = 0
    for log in _files(data_dir, "*.log"):
        data = log.read_bytes()
        base = int(log.stem)
        index = log.with_suffix(".index").read_bytes()
        previous = -1
        for at in range(0, len(index) - len(index) % 8, 8):
            relative, position = INDEX_ENTRY.unpack_from(index, at)
            first, _, _, magic, _, _, delta = BATCH_HEADER.unpack_from(data, position)
            assert magic == 2, f"{log}: index entry {at // 8} points into the middle of a batch"
            assert first <= base + relative <= first + delta, f"{log}: index entry {at // 8}"
            assert relative > previous, f"{log}: index entries go back"
            previous = relative
            checked += 1
    return checked


def run(data_dir: Path, *, rounds: int, seed: int, report: Callable[[str], None]) -> Ledger:
    rng = random.Random(seed)
    ledger = Ledger()
    process = BarnabasProcess(data_dir)
    process.start()
    try:
        create_topic(process.bootstrap)
        for number in range(rounds):
            acked = produce_until_killed(process, ledger, rng, f"r{number}")
            damage = DAMAGE[number % len(DAMAGE)]
            damage(data_dir, rng)
            process.start(same_port=True)
            verify(process.bootstrap, ledger)
            report(
                f"round {number + 1}/{rounds}: {acked} acknowledged, {damage.__name__}, all there"
            )
        process.stop()
        entries = check_indexes(data_dir)
        assert entries > 0, "no index entry was written"
        process.start(same_port=True)
        ledger.read_to = [0] * PARTITIONS
        verify(process.bootstrap, ledger)
        report(
            f"{ledger.total} records acknowledged in all, each at its offset; "
            f"{entries} index entries right"
        )
        process.stop()
    finally:
        if process.process is not None and process.process.poll() is None:
            process.kill()
    return ledger

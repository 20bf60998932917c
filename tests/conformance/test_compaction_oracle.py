"""Apache Kafka's cleaner and ours leave the same of the same log: records, batches and all."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
)
from eventually import eventually
from harness.apache import ApacheBroker
from harness.brokers import Broker

from barnabas.base.clock import SYSTEM_CLOCK
from barnabas.base.errors import StorageFailed
from barnabas.records.batch import decode_records, iter_headers
from barnabas.storage.checkpoint import CLEANER_OFFSETS, read_offsets, write_offsets
from barnabas.storage.cleaner import Cleaner, CleanerSettings
from barnabas.storage.config import LogConfig
from barnabas.storage.fs import FilePool
from barnabas.storage.index import IndexCache
from barnabas.storage.log import Log
from barnabas.storage.recovery import open_log
from barnabas.storage.workers import InlineWorkers

TOPIC = "compacted"
ROUNDS = 2
"""Delete horizons are set in the first round and have passed in the second."""
SETTINGS = {
    "segment.bytes": "1048576",
    "delete.retention.ms": "0",
    "min.cleanable.dirty.ratio": "0.001",
    "retention.ms": "-1",
}


class Writers:
    """A plain, an idempotent and two transactional producers, by turns."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        common = {"bootstrap.servers": bootstrap, "linger.ms": 2, "batch.num.messages": 50}
        self._random = random.Random(seed)
        self._plain = Producer({**common, "compression.type": "zstd"})
        self._idempotent = Producer({**common, "enable.idempotence": True})
        self._transactional = [
            Producer({**common, "transactional.id": f"writer-{i}"}) for i in range(2)
        ]
        for producer in self._transactional:
            producer.init_transactions()

    def _send(self, producer: Any, most: int) -> None:
        for _ in range(self._random.randrange(1, most)):
            value = self._random.randbytes(self._random.randrange(10, 400))
            key = b"key-%d" % self._random.randrange(300)
            producer.produce(TOPIC, None if self._random.random() < 0.1 else value, key)
        producer.flush()

    def write(self, rounds: int) -> None:
        for _ in range(rounds):
            match self._random.randrange(5):
                case 0 | 1:
                    self._send(self._plain, 60)
                case 2:
                    self._send(self._idempotent, 60)
                case _:
                    producer = self._random.choice(self._transactional)
                    producer.begin_transaction()
                    self._send(producer, 40)
                    if self._random.random() < 0.5:
                        producer.commit_transaction()
                    else:
                        producer.abort_transaction()


def set_policy(admin: AdminClient, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    change = ConfigResource("topic", TOPIC, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([change]).values():
        future.result()


def has_no_open_transaction(admin: AdminClient) -> bool:
    """The marker of the last one is written after its producer was answered."""
    partition = TopicPartition(TOPIC, 0)
    ends = {
        admin.list_offsets({partition: OffsetSpec.latest()}, isolation_level=level)[partition]
        .result()
        .offset
        for level in IsolationLevel
    }
    return len(ends) == 1


def content(folder: Path) -> tuple[list[object], list[object]]:
    """Every record, and every batch as far as compaction must not choose: not its encoding."""
    records: list[object] = []
    batches: list[object] = []
    for file in sorted(folder.glob("*.log")):
        data = file.read_bytes()
        for position, header in iter_headers(data):
            batch = data[position : position + header.size_bytes]
            records += decode_records(batch, header)
            own = header._replace(batch_length=0, crc=0, base_timestamp=0)
            batches.append((file.name, *own))
    return records, batches


def refuse(log: Log, failure: StorageFailed) -> None:
    raise failure


def compact(folder: Path) -> None:
    """With our cleaner, going by the checkpoint in the parent directory."""
    config = LogConfig(
        cleanup_policy=("compact",),
        segment_bytes=1 << 20,
        delete_retention_ms=0,
        min_cleanable_dirty_ratio=0.001,
    )
    pool = FilePool(50)
    log = open_log(
        pool=pool,
        cache=IndexCache(),
        topic=TOPIC,
        partition=0,
        topic_id=bytes(16),
        directory=str(folder),
        config=config,
        now_ms=SYSTEM_CLOCK.now_ms(),
    )
    log.advance_high_watermark(log.end_offset)
    cleaner = Cleaner(
        pool,
        InlineWorkers(),
        settings=CleanerSettings(backoff_ms=0),
        clock=SYSTEM_CLOCK,
        on_failure=refuse,
    )
    cleaner.tick([log], SYSTEM_CLOCK.now_ms())
    assert cleaner.clean_offset(log) == log.segments.active.base_offset
    log.close()
    pool.close()


@pytest.mark.parametrize("seed", [1])
def test_the_same_records_and_batches_survive(
    launch: Callable[..., Broker], tmp_path: Path, seed: int
) -> None:
    broker = launch(ApacheBroker, "kafka", log_cleaner_backoff_ms="100")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topic = NewTopic(TOPIC, 1, 1, config={"cleanup.policy": "delete", **SETTINGS})
    admin.create_topics([topic])[TOPIC].result()
    writers = Writers(broker.bootstrap, seed)
    theirs = broker.data_dir / f"{TOPIC}-0"
    checkpoint = str(broker.data_dir / CLEANER_OFFSETS)
    pool = FilePool(10)

    for number in range(ROUNDS):
        set_policy(admin, "delete")  # holds the cleaner back
        writers.write(400)
        eventually(lambda: has_no_open_transaction(admin))
        active = int(max(theirs.glob("*.log")).stem)
        ours = tmp_path / f"ours-{number}" / f"{TOPIC}-0"
        shutil.copytree(theirs, ours, ignore=shutil.ignore_patterns("*.deleted"))
        before = read_offsets(pool, checkpoint).get((TOPIC, 0), 0)
        write_offsets(pool, str(ours.parent / CLEANER_OFFSETS), {(TOPIC, 0): before})
        set_policy(admin, "compact")

        def is_compacted(end: int = active) -> bool:
            return read_offsets(pool, checkpoint).get((TOPIC, 0), 0) >= end

        assert broker.child is not None
        broker.child.wait_until(is_compacted, what="compaction", seconds=60)
        total = len(content(ours)[0])
        compact(ours)
        assert content(ours) == content(theirs)
        assert len(content(ours)[0]) < total

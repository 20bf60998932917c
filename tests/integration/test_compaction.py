"""Compaction in a running broker: what remains, what goes, and what readers see meanwhile."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Producer
from eventually import eventually
from quick_clients import PATIENCE_S, alter, watermarks
from wire_client import (
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    produce_request,
    produced,
    read_log,
)

from barnabas.records.batch import Record

QUICK = (
    "log.cleaner.backoff.ms=100",
    "log.retention.check.interval.ms=100",
    "log.segment.delete.delay.ms=0",
)
COMPACT = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": "4096",
    "min_cleanable_dirty_ratio": "0.01",
}
DAY_MS = 24 * 3600 * 1000

Model = dict[bytes, bytes | None]


class Writer:
    """Writes keys and values, and remembers the last of each."""

    def __init__(self, client: WireClient, topic: str = "t") -> None:
        self.client = client
        self.topic = topic
        self.last: Model = {}
        self.end = 0

    def put(self, key: bytes, value: bytes | None) -> None:
        request = produce_request(self.topic, batch_of(value, key=key))
        code, offset = produced(self.client.call(request, PRODUCE_VERSION))
        assert (code, offset) == (0, self.end)
        self.end += 1
        self.last[key] = value

    def fill_segment(self) -> None:
        """What is compacted are closed segments: close the one that is written to."""
        for n in range(30):
            self.put(b"filler", b"%d" % n + b"." * 200)


def state(records: list[Record]) -> Model:
    """What someone who reads the topic from its start comes to know."""
    offsets = [record.offset for record in records]
    assert offsets == sorted(set(offsets)), "offsets must rise"
    return {record.key: record.value for record in records if record.key is not None}


def without_deleted(model: Model) -> Model:
    return {key: value for key, value in model.items() if value is not None}


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_last_value_of_each_key_remains_and_the_others_go(tmp_path: Path, end: str) -> None:
    rng = random.Random(3)
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", **COMPACT)
        with WireClient(broker.port) as client:
            writer = Writer(client)
            for n in range(1_500):
                writer.put(b"key %d" % rng.randrange(40), b"%d" % n + b"." * rng.randrange(100))
            writer.fill_segment()

            eventually(lambda: len(read_log(client, "t")) < 120, what="compacted")
            eventually(lambda: "Compacted t-0" in broker.log)
            assert state(read_log(client, "t")) == writer.last
            assert watermarks(broker.bootstrap, "t") == (0, writer.end)
            remaining = read_log(client, "t")
        getattr(broker, end)()
        broker.start(same_port=True)
        with WireClient(broker.port) as client:
            assert state(read_log(client, "t")) == writer.last
            assert len(read_log(client, "t")) <= len(remaining)
            again = Writer(client)
            again.end = writer.end
            again.put(b"key 1", b"new")
        assert "Traceback" not in broker.stop()


def test_deleted_keys_vanish_when_readers_had_their_time(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", delete_retention_ms="0", **COMPACT)
        create_topics(broker.bootstrap, "patient", **COMPACT)
        with WireClient(broker.port) as client:
            writers = [Writer(client), Writer(client, "patient")]
            for writer in writers:
                for n in range(20):
                    writer.put(b"key %d" % n, b"value")
                for n in range(10):
                    writer.put(b"key %d" % n, None)

            def tombstones(topic: str) -> list[bytes | None]:
                return [r.key for r in read_log(client, topic) if r.value is None]

            def compacted_again() -> bool:
                for writer in writers:  # a log is only cleaned when there is something new in it
                    writer.fill_segment()
                return not tombstones("t")

            eventually(compacted_again)
            assert state(read_log(client, "t")) == without_deleted(writers[0].last)
            assert tombstones("patient") == [b"key %d" % n for n in range(10)]
            assert state(read_log(client, "patient")) == writers[1].last


def test_readers_see_the_same_state_before_during_and_after(tmp_path: Path) -> None:
    rng = random.Random(5)
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", **COMPACT)
        with WireClient(broker.port) as client:
            writer = Writer(client)
            rounds = 0

            def compacted_often() -> bool:
                nonlocal rounds
                for _ in range(50):
                    key = b"key %d" % rng.randrange(60)
                    gone = rng.random() < 0.05
                    writer.put(key, None if gone else rng.randbytes(rng.randrange(150)))
                rounds += 1
                assert state(read_log(client, "t")) == writer.last
                return broker.log.count("Compacted t-0") >= 5

            eventually(compacted_often, timeout_s=60)
            assert len(read_log(client, "t")) < writer.end * 0.8
        assert "Traceback" not in broker.stop()


def test_compact_and_delete_does_both(tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        settings = {**COMPACT, "cleanup_policy": "compact,delete"}
        create_topics(broker.bootstrap, "t", retention_ms=str(DAY_MS), **settings)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1})
        for age_ms, prefix in ((2 * DAY_MS, b"old"), (0, b"new")):
            for n in range(300):
                producer.produce(
                    "t", b"." * 100, prefix + b" %d" % (n % 10), 0, timestamp=now - age_ms
                )
            assert producer.flush(PATIENCE_S) == 0

        def keys() -> list[bytes | None]:
            with WireClient(broker.port) as client:
                return [record.key for record in read_log(client, "t")]

        eventually(lambda: len(keys()) < 60 and not [k for k in keys() if (k or b"")[:3] == b"old"])
        assert set(keys()) == {b"new %d" % n for n in range(10)}
        assert watermarks(broker.bootstrap, "t")[0] > 250


def test_a_topic_becomes_compacted_when_its_policy_changes(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path, *QUICK) as broker:
        create_topics(broker.bootstrap, "t", **{**COMPACT, "cleanup_policy": "delete"})
        with WireClient(broker.port) as client:
            writer = Writer(client)
            for n in range(300):
                writer.put(b"key %d" % (n % 5), b"%d" % n + b"." * 100)
            assert len(read_log(client, "t")) == 300

            alter(broker.bootstrap, "topic", "t", cleanup_policy="compact")
            writer.fill_segment()

            eventually(lambda: len(read_log(client, "t")) < 80)
            assert state(read_log(client, "t")) == writer.last

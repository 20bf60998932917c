"""Our source beside Spark's own Kafka connector: same options, same topics, the same rows.

On both brokers, so that neither connector nor broker is judged by its own sibling alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness.brokers import Broker
from harness.spark import OURS, THEIRS, Rows, rows
from topic_records import CODECS, add_partitions, create_topic, mixed, produce, transact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Read = Callable[..., tuple[Rows, Rows]]


@pytest.fixture
def both(spark: SparkSession, target: Broker) -> Read:
    """Reads a batch with both connectors; headers too, unless an option says otherwise."""

    def read(**options: object) -> tuple[Rows, Rows]:
        chosen = {
            "kafka.bootstrap.servers": target.bootstrap,
            "includeHeaders": "true",
            **{name.replace("__", "."): str(value) for name, value in options.items()},
        }
        frames = [spark.read.format(each).options(**chosen).load() for each in (OURS, THEIRS)]
        assert frames[0].schema == frames[1].schema
        return rows(frames[0]), rows(frames[1])

    return read


def check(found: tuple[Rows, Rows], count: int | None = None) -> Rows:
    ours, theirs = found
    assert ours == theirs
    assert ours
    if count is not None:
        assert len(ours) == count
    return ours


@pytest.mark.parametrize("codec", CODECS)
def test_the_same_rows_of_every_codec(target: Broker, both: Read, topic: str, codec: str) -> None:
    create_topic(target.bootstrap, topic, 3)
    produce(target.bootstrap, topic, mixed(2000), compression_type=codec)

    check(both(subscribe=topic), 2000)


def test_records_of_a_megabyte(target: Broker, both: Read, topic: str) -> None:
    create_topic(target.bootstrap, topic, 2)
    large = [{"key": b"%d" % i, "value": bytes([i]) * 1_000_000} for i in range(12)]
    produce(target.bootstrap, topic, large, message_max_bytes=2_000_000)

    check(both(subscribe=topic), 12)


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_transactions(target: Broker, both: Read, topic: str, level: str) -> None:
    create_topic(target.bootstrap, topic, 2)
    transact(target.bootstrap, topic, topic, (True, 50), (False, 70), (True, 1), (False, 300))
    produce(target.bootstrap, topic, mixed(30))

    found = check(both(subscribe=topic, kafka__isolation__level=level))

    assert len(found) == (81 if level == "read_committed" else 451)


def test_ranges_of_offsets(target: Broker, both: Read, topic: str) -> None:
    create_topic(target.bootstrap, topic, 2)
    for partition in (0, 1):
        each = [dict(record, partition=partition) for record in mixed(100)]
        produce(target.bootstrap, topic, each)

    check(
        both(
            subscribe=topic,
            startingOffsets=f'{{"{topic}": {{"0": 17, "1": -2}}}}',
            endingOffsets=f'{{"{topic}": {{"0": 64, "1": -1}}}}',
        ),
        147,
    )
    check(both(assign=f'{{"{topic}": [1]}}'), 100)
    check(both(subscribe=topic, minPartitions=7), 200)


def test_times(target: Broker, both: Read, topic: str) -> None:
    create_topic(target.bootstrap, topic)
    now = 1_700_000_000_000
    timed = [dict(record, timestamp=now + i) for i, record in enumerate(mixed(100))]
    produce(target.bootstrap, topic, timed)

    check(both(subscribe=topic, startingTimestamp=now + 40, endingTimestamp=now + 60), 20)
    check(both(subscribe=topic, startingTimestamp=now + 40, endingTimestamp=now + 10**6), 60)
    by_partition = {"startingOffsetsByTimestamp": f'{{"{topic}": {{"0": {now + 90}}}}}'}
    check(both(subscribe=topic, **by_partition), 10)


def test_the_time_of_appending(target: Broker, both: Read, topic: str) -> None:
    create_topic(target.bootstrap, topic, message_timestamp_type="LogAppendTime")
    produce(target.bootstrap, topic, mixed(50))

    assert {row[6] for row in check(both(subscribe=topic), 50)} == {1}


def test_topics_by_pattern(target: Broker, both: Read, topic: str) -> None:
    for suffix in ("a", "b", "other"):
        create_topic(target.bootstrap, f"{topic}.{suffix}", 2)
        produce(target.bootstrap, f"{topic}.{suffix}", mixed(20))

    check(both(subscribePattern=f"{topic}[.][ab]"), 40)


def test_a_compacted_topic(
    launch: Callable[..., Broker], target: Broker, topic: str, spark: SparkSession
) -> None:
    """Of a broker of its own, which cleans at once."""
    cleaning = launch(
        type(target),
        "cleaning",
        log_cleaner_backoff_ms="100",
        log_retention_check_interval_ms="100",
    )
    create_topic(
        cleaning.bootstrap,
        topic,
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.01",
        segment_bytes="1048576",
    )
    keyed = [
        {"key": b"%d" % (i if i % 10 == 0 else i % 7), "value": b"v" * 900 + b"%d" % i}
        for i in range(6000)
    ]
    options = {"kafka.bootstrap.servers": cleaning.bootstrap, "subscribe": topic}
    produce(cleaning.bootstrap, topic, keyed)
    frame = spark.read.format(OURS).options(**options).load()
    for _ in range(600):
        if frame.count() < 4000:
            break
        produce(cleaning.bootstrap, topic, keyed[:50])
    else:
        pytest.fail("nothing was compacted")
    end = f'{{"{topic}": {{"0": 4000}}}}'
    frames = [
        spark.read.format(each).options(**options, endingOffsets=end).load()
        for each in (THEIRS, OURS, THEIRS)
    ]

    first, ours, last = (rows(each) for each in frames)

    assert set(last) <= set(ours) <= set(first)  # cleaning may go on meanwhile
    assert ours


def test_deleted_records_are_not_there(target: Broker, both: Read, topic: str) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    create_topic(target.bootstrap, topic)
    produce(target.bootstrap, topic, mixed(100))
    admin = AdminClient({"bootstrap.servers": target.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, 42)]).values():
        future.result(60)

    assert check(both(subscribe=topic), 58)[0][4] == 42


# Streams.


@pytest.fixture
def streams(spark: SparkSession, target: Broker, tmp_path: Path) -> Read:
    """Runs a query of each connector over what is available now, from where it was; all rows."""

    def run(**options: object) -> tuple[Rows, Rows]:
        found = []
        for name in (OURS, THEIRS):
            frame = (
                spark.readStream.format(name)
                .option("kafka.bootstrap.servers", target.bootstrap)
                .option("includeHeaders", "true")
                .options(**{key.replace("__", "."): str(value) for key, value in options.items()})
                .load()
            )
            query = (
                frame.writeStream.format("parquet")
                .option("checkpointLocation", str(tmp_path / name / "checkpoint"))
                .trigger(availableNow=True)
                .start(str(tmp_path / name / "rows"))
            )
            assert query.awaitTermination(240)
            found.append(rows(spark.read.parquet(str(tmp_path / name / "rows"))))
        return found[0], found[1]

    return run


def test_streams_that_grow_partitions(target: Broker, streams: Read, topic: str) -> None:
    create_topic(target.bootstrap, topic, 1)
    produce(target.bootstrap, topic, mixed(300), compression_type="lz4")
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 250}
    check(streams(**options), 300)

    add_partitions(target.bootstrap, topic, 3)
    for partition in range(3):
        each = [dict(record, partition=partition) for record in mixed(100, 1000)]
        produce(target.bootstrap, topic, each)

    assert {row[3] for row in check(streams(**options), 600)} == {0, 1, 2}


def test_streams_of_transactions_by_pattern(target: Broker, streams: Read, topic: str) -> None:
    options = {
        "subscribePattern": f"{topic}.*",
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
        "minPartitions": 4,
    }
    create_topic(target.bootstrap, f"{topic}.a", 2)
    transact(target.bootstrap, f"{topic}.a", topic, (True, 40), (False, 60), (True, 20))
    check(streams(**options), 60)

    create_topic(target.bootstrap, f"{topic}.b")
    transact(target.bootstrap, f"{topic}.b", topic, (False, 10), (True, 30))

    check(streams(**options), 90)

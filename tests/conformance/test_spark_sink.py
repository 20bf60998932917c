"""Our sink beside Spark's own Kafka connector: the same rows become the same records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness.brokers import Broker
from harness.spark import OURS, THEIRS, rows
from topic_records import create_topic, mixed, produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 7


def read(spark: SparkSession, target: Broker, topic: str, connector: str = OURS) -> DataFrame:
    return (
        spark.read.format(connector)
        .option("kafka.bootstrap.servers", target.bootstrap)
        .option("kafka.isolation.level", "read_committed")
        .option("includeHeaders", "true")
        .option("subscribe", topic)
        .load()
    )


def content(frame: DataFrame) -> list[str]:
    """Where records are and what is in them, but for offsets and times."""
    return sorted(repr((row[3], row[0], row[1], row[7])) for row in rows(frame))


@pytest.fixture
def keyed(spark: SparkSession) -> DataFrame:
    """Rows with a key each: those without land anywhere."""
    made: list[tuple[Any, ...]] = [
        (f"key-{i}" * (i % 5), f"value-{i}", [("h", bytearray(b"%d" % i))] if i % 3 else None)
        for i in range(2000)
    ]
    return spark.createDataFrame(
        made, "key string, value string, headers array<struct<key: string, value: binary>>"
    )


def test_keys_land_in_the_same_partitions(
    spark: SparkSession, target: Broker, topic: str, keyed: DataFrame
) -> None:
    for connector in (OURS, THEIRS):
        create_topic(target.bootstrap, f"{topic}-{connector}", PARTITIONS)
        (
            keyed.write.format(connector)
            .option("kafka.bootstrap.servers", target.bootstrap)
            .option("topic", f"{topic}-{connector}")
            .mode("append")
            .save()
        )

    ours, theirs = (content(read(spark, target, f"{topic}-{each}")) for each in (OURS, THEIRS))

    assert len(ours) == 2000
    assert ours == theirs


@pytest.mark.parametrize("connector", [OURS, THEIRS])
def test_a_stream_into_a_topic(
    spark: SparkSession, target: Broker, topic: str, connector: str, tmp_path: Path
) -> None:
    """Each connector writes; both read the same."""
    create_topic(target.bootstrap, f"{topic}-in", 3)
    create_topic(target.bootstrap, f"{topic}-out", 3)
    produce(target.bootstrap, f"{topic}-in", mixed(500))
    options = {"exactlyOnce": "true"} if connector == OURS else {}
    query = (
        spark.readStream.format(connector)
        .option("kafka.bootstrap.servers", target.bootstrap)
        .option("subscribe", f"{topic}-in")
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("maxOffsetsPerTrigger", "200")
        .load()
        .select("key", "value", "headers", "partition")
        .writeStream.format(connector)
        .option("kafka.bootstrap.servers", target.bootstrap)
        .option("topic", f"{topic}-out")
        .option("checkpointLocation", str(tmp_path))
        .options(**options)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240)

    written = content(read(spark, target, f"{topic}-out", OURS))

    assert len(written) == 500
    assert written == content(read(spark, target, f"{topic}-out", THEIRS))
    assert written == content(read(spark, target, f"{topic}-in"))

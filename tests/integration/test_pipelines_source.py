"""Topics as tables of Spark, from a real broker: batches and streams."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from barnabas_process import BarnabasProcess
from pyspark.errors import PySparkException
from spark_here import run_available
from topic_records import CODECS, add_partitions, create_topic, mixed, produce, transact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    return create_topic(broker.bootstrap, topic_name(), 2)


def read(spark: SparkSession, broker: BarnabasProcess, **options: str) -> DataFrame:
    return (
        spark.read.format("barnabas")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .options(**options)
        .load()
    )


def follow(spark: SparkSession, broker: BarnabasProcess, **options: str) -> DataFrame:
    return (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .options(**options)
        .load()
    )


def test_a_batch_has_every_record_of_every_codec(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    for codec in CODECS:
        produce(broker.bootstrap, topic, mixed(60), compression_type=codec)

    rows = read(spark, broker, subscribe=topic, includeHeaders="true").collect()

    assert sorted((row.key or b"", row.value or b"") for row in rows) == sorted(
        (record["key"] or b"", record["value"] or b"") for record in mixed(60) * len(CODECS)
    )
    assert sum(row.headers is not None for row in rows) == 100
    for partition in (0, 1):
        offsets = sorted(row.offset for row in rows if row.partition == partition)
        assert offsets == list(range(len(offsets)))


def test_workers_import_pyspark_from_its_package_and_not_from_a_zip(spark: SparkSession) -> None:
    """Which each of them would compile anew."""
    import pyspark

    def place(_: int) -> str:
        return os.path.realpath(str(sys.modules["pyspark"].__file__))

    found = spark.sparkContext.parallelize([0], 1).map(place).collect()
    assert found == [os.path.realpath(pyspark.__file__)]


def test_no_records_no_rows(spark: SparkSession, broker: BarnabasProcess, topic: str) -> None:
    assert read(spark, broker, subscribe=topic).count() == 0


def test_only_committed_records_if_asked(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    transact(broker.bootstrap, topic, topic, (True, 30), (False, 50))
    committed = {"kafka.isolation.level": "read_committed"}

    assert read(spark, broker, subscribe=topic).count() == 80
    assert read(spark, broker, subscribe=topic, **committed).count() == 30


def test_tasks_can_be_more_than_partitions(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    produce(broker.bootstrap, topic, mixed(100))

    frame = read(spark, broker, subscribe=topic, minPartitions="5")

    assert frame.rdd.getNumPartitions() == 5
    assert frame.select("partition", "offset").distinct().count() == 100


def test_what_is_wrong_is_said_before_anything_runs(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    with pytest.raises(PySparkException, match="topic nowhere does not exist"):
        read(spark, broker, subscribe="nowhere").count()
    with pytest.raises(PySparkException, match="startingOffsets there is"):
        read(spark, broker, subscribe=topic, startingOffset="earliest").count()


def test_a_stream_goes_on_where_it_was_and_sees_new_partitions(
    spark: SparkSession, broker: BarnabasProcess, topic: str, tmp_path: Path
) -> None:
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "40"}
    produce(broker.bootstrap, topic, mixed(100))
    frame = follow(spark, broker, subscribe=topic, **options)

    assert len(run_available(frame, tmp_path)) == 100

    add_partitions(broker.bootstrap, topic, 3)
    produce(broker.bootstrap, topic, [dict(each, partition=2) for each in mixed(30)])

    rows = run_available(frame, tmp_path)
    assert len({(row["partition"], row["offset"]) for row in rows}) == len(rows) == 130


def test_a_stream_from_the_end_misses_nothing_that_comes_while_it_is_down(
    spark: SparkSession, broker: BarnabasProcess, topic: str, tmp_path: Path
) -> None:
    """Its first batch is empty, and makes the start durable."""
    produce(broker.bootstrap, topic, mixed(10))
    frame = follow(spark, broker, subscribe=topic)
    assert run_available(frame, tmp_path) == []

    produce(broker.bootstrap, topic, mixed(7))
    commits = tmp_path / "checkpoint" / "commits"
    assert sorted(path.name for path in commits.glob("[0-9]*")) == ["0"]
    for path in (commits / "0", commits / ".0.crc"):
        path.unlink()  # as if it had died within its first batch

    assert len(run_available(frame, tmp_path)) == 7

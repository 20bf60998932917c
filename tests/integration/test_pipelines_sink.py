"""Tables into topics of a real broker: where keys land, once or at least once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from barnabas_process import BarnabasProcess
from eventually import eventually
from pyspark.errors import PySparkException
from spark_here import QUERY_S
from topic_records import committed, create_topic, mixed, produce

from barnabas.client.errors import RefusedError
from barnabas.client.transaction_admin import TransactionAdmin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 6
# Where Apache Kafka's producer puts these keys among six partitions.
JAVA_PLACES = {b"": 3, b"a": 4, b"key": 1, b"foobar": 0}


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    return create_topic(broker.bootstrap, topic_name(), PARTITIONS)


def write(frame: DataFrame, broker: BarnabasProcess, **options: str) -> None:
    (
        frame.write.format("barnabas")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .options(**options)
        .mode("append")
        .save()
    )


def stream_of(
    spark: SparkSession, broker: BarnabasProcess, topic: str, **options: str
) -> DataFrame:
    """A topic from its beginning."""
    return (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .options(**options)
        .load()
    )


def consume(broker: BarnabasProcess, topic: str) -> list[tuple[object, ...]]:
    """Partition, key, value and headers of all committed records."""
    return [
        (message.partition(), message.key(), message.value(), message.headers())
        for message in committed(broker.bootstrap, topic, PARTITIONS)
    ]


def test_columns_become_records(spark: SparkSession, broker: BarnabasProcess, topic: str) -> None:
    frame = spark.createDataFrame(
        [
            (bytearray(b"k"), bytearray(b"v"), topic, 4, [("h", bytearray(b"1")), ("h", None)]),
            (None, None, topic, 2, None),
        ],
        "key binary, value binary, topic string, partition int, "
        "headers array<struct<key: string, value: binary>>",
    )

    write(frame, broker)

    assert sorted(consume(broker, topic), key=lambda row: row[0]) == [
        (2, None, None, None),
        (4, b"k", b"v", [("h", b"1"), ("h", None)]),
    ]


def test_keys_land_where_java_puts_them(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    rows = [(key.decode(), "v") for key in JAVA_PLACES]

    write(spark.createDataFrame(rows, "key string, value string"), broker, topic=topic)

    assert {row[1]: row[0] for row in consume(broker, topic)} == JAVA_PLACES


def test_wrong_columns_are_said_before_anything_runs(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    with pytest.raises(PySparkException, match="column value: string or binary"):
        write(spark.range(3).withColumnRenamed("id", "value"), broker, topic=topic)


def test_a_batch_that_is_done_again_is_not_written_again(
    spark: SparkSession,
    broker: BarnabasProcess,
    topic: str,
    topic_name: Callable[[], str],
    tmp_path: Path,
) -> None:
    source = create_topic(broker.bootstrap, topic_name(), 3)
    produce(broker.bootstrap, source, [{"value": b"%d" % i} for i in range(300)])

    def run() -> None:
        query = (
            stream_of(spark, broker, source, maxOffsetsPerTrigger="150")
            .select("key", "value")
            .writeStream.format("barnabas")
            .option("kafka.bootstrap.servers", broker.bootstrap)
            .option("topic", topic)
            .option("exactlyOnce", "true")
            .option("kafka.group.id", "of-the-user")
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(QUERY_S)

    run()
    commits = sorted((tmp_path / "commits").glob("[0-9]*"))
    last = commits[-1]
    last.unlink()  # as if the driver had died after its tasks had committed
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    run()

    values = [row[2] for row in consume(broker, topic)]
    assert len(values) == 300
    assert {int(value) for value in values if isinstance(value, bytes)} == set(range(300))


def test_a_named_job_is_written_once(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    frame = spark.range(0, 100, numPartitions=3).selectExpr("cast(id as string) as value")
    once = {"topic": topic, "exactlyOnce": "true", "exactlyOnceId": topic}

    write(frame, broker, **once)
    write(frame, broker, **once)

    assert len(consume(broker, topic)) == 100


def test_everything_that_was_read_can_be_written_back(
    spark: SparkSession, broker: BarnabasProcess, topic: str, topic_name: Callable[[], str]
) -> None:
    copy = create_topic(broker.bootstrap, topic_name(), PARTITIONS)
    produce(broker.bootstrap, topic, mixed(60))
    frame = (
        spark.read.format("barnabas")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", topic)
        .option("includeHeaders", "true")
        .load()
    )

    write(frame, broker, topic=copy)

    originals = sorted(map(repr, consume(broker, topic)))
    assert len(originals) == 60
    assert sorted(map(repr, consume(broker, copy))) == originals


def is_open(admin: TransactionAdmin, transactional_id: str) -> bool:
    try:
        return admin.describe(transactional_id).state == "Ongoing"
    except RefusedError as error:
        if error.name != "TRANSACTIONAL_ID_NOT_FOUND":
            raise
        return False


def test_a_task_that_fails_after_many_rows_leaves_none_of_them(
    spark: SparkSession, broker: BarnabasProcess, topic: str
) -> None:
    """What writes its rows sees no error: they just end, after the whole batches of Arrow."""
    once = {"topic": topic, "exactlyOnce": "true", "exactlyOnceId": topic}

    def rows(broken: int) -> DataFrame:
        value = f"if(id = {broken}, raise_error('planted'), cast(id as string)) as value"
        return spark.range(0, 25_000, numPartitions=1).selectExpr(value)

    with pytest.raises(PySparkException, match="planted"):
        write(rows(24_000), broker, **once)
    with TransactionAdmin.connect({"bootstrap.servers": broker.bootstrap}) as admin:
        # Its process goes on with the rows it has; whoever comes later ends that.
        eventually(
            lambda: is_open(admin, f"barnabas-{topic}-0"),
            timeout_s=120,
            what="the process of the task that failed writes",
        )
    write(rows(-1), broker, **once)

    found = [int(bytes(row[2])) for row in consume(broker, topic)]
    assert sorted(found) == list(range(25_000))


def test_every_write_of_a_batch_has_a_name_of_its_own(
    spark: SparkSession, broker: BarnabasProcess, topic: str, tmp_path: Path
) -> None:
    produce(broker.bootstrap, topic, mixed(60))
    copies = [create_topic(broker.bootstrap, f"{topic}-{number}", PARTITIONS) for number in (1, 2)]

    def run(names: list[dict[str, str]]) -> None:
        def write_twice(batch: DataFrame, _: int) -> None:
            for copy, name in zip(copies, names, strict=True):
                write(batch, broker, topic=copy, exactlyOnce="true", **name)

        query = (
            stream_of(spark, broker, topic)
            .select("key", "value")
            .writeStream.foreachBatch(write_twice)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(QUERY_S)

    with pytest.raises(PySparkException, match="needs exactlyOnceId"):
        run([{}, {}])
    run([{"exactlyOnceId": copy} for copy in copies])

    assert [len(consume(broker, copy)) for copy in copies] == [60, 60]

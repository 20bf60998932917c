"""The Spark side of the benchmark: a session of its own that measures what it is told to.

Run as a program, it is asked by lines of JSON (`harness.lines`).  Rows go to Spark's `noop` sink,
which takes every column of every row and does nothing with them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "conformance"))

from confluent_kafka import Producer
from harness.maven import spark_connector

from barnabas.pipelines.spark import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAIT_S = 600
LATENCY_RECORDS = 300
PAUSE_S = 0.03


class Measuring:
    """One session, both connectors in it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def _options(self, bootstrap: str, topic: str) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }

    def batch(self, connector: str, bootstrap: str, topic: str) -> float:
        """Seconds to read a topic as a batch."""
        began = time.monotonic()
        options = self._options(bootstrap, topic)
        frame = self._spark.read.format(connector).options(**options).load()
        frame.write.format("noop").mode("overwrite").save()
        return time.monotonic() - began

    def _stream(self, connector: str, bootstrap: str, topic: str) -> DataFrame:
        options = self._options(bootstrap, topic)
        return self._spark.readStream.format(connector).options(**options).load()

    def _run(self, frame: DataFrame, mode: str) -> float:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            query = (
                frame.writeStream.format("noop")
                .option("checkpointLocation", folder)
                .outputMode(mode)
                .trigger(availableNow=True)
                .start()
            )
            if not query.awaitTermination(WAIT_S):
                raise TimeoutError("the query does not end")
        return time.monotonic() - began

    def available_now(self, connector: str, bootstrap: str, topic: str) -> float:
        return self._run(self._stream(connector, bootstrap, topic), "append")

    def windowed(self, connector: str, bootstrap: str, topic: str) -> float:
        """How many records there are in every second."""
        from pyspark.sql.functions import window

        frame = self._stream(connector, bootstrap, topic)
        counted = frame.groupBy(window("timestamp", "1 second")).count()
        return self._run(counted, "update")

    def sink(self, connector: str, bootstrap: str, topic: str, count: int, size: int) -> float:
        frame = self._spark.range(0, count, numPartitions=2).selectExpr(
            "cast(id as string) as key", f"rpad(cast(id as string), {size}, 'x') as value"
        )
        began = time.monotonic()
        options = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
        frame.write.format(connector).options(**options).mode("append").save()
        return time.monotonic() - began

    def latency(self, connector: str, bootstrap: str, topic: str) -> dict[str, float]:
        """From handing a record to a producer until its row is in the driver's hands."""
        arrived: dict[int, float] = {}
        grown = threading.Condition()

        def take(frame: DataFrame, _: int) -> None:
            rows = frame.select("value").collect()
            with grown:
                arrived.update(dict.fromkeys((int(row.value) for row in rows), time.monotonic()))
                grown.notify_all()

        def await_rows(count: int) -> None:
            with grown:
                if not grown.wait_for(lambda: len(arrived) >= count, WAIT_S):
                    raise TimeoutError(f"{len(arrived)} of {count} rows")

        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        sent = {}
        with tempfile.TemporaryDirectory() as folder:
            frame = self._stream(connector, bootstrap, topic)
            query = (
                frame.writeStream.foreachBatch(take).option("checkpointLocation", folder).start()
            )
            for number in range(LATENCY_RECORDS + 1):
                sent[number] = time.monotonic()
                producer.produce(topic, b"%d" % number)
                producer.flush()
                if number == 0:
                    await_rows(1)  # now it runs
                time.sleep(PAUSE_S)
            await_rows(len(sent))
            query.stop()
        late = [(arrived[number] - when) * 1000 for number, when in sent.items() if number]
        hundredths = quantiles(late, n=100)
        return {"p50_ms": hundredths[49], "p99_ms": hundredths[98]}


def main() -> None:
    spark = start_session(
        "bench",
        master="local[2]",
        settings={
            "spark.jars": ",".join(spark_connector()),
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    measuring = Measuring(spark)
    for line in sys.stdin:
        asked = json.loads(line)
        action: Callable[..., Any] = getattr(measuring, asked.pop("op"))
        try:
            answer: dict[str, Any] = {"ok": action(**asked)}
        except Exception as error:  # told to whoever asked
            answer = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()

"""A Spark of two cores in this process, quiet and small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from barnabas.pipelines.spark import start_session

SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "768m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m",
    "spark.log.level": "OFF",
}


@contextmanager
def local_spark() -> Iterator[SparkSession]:
    session = start_session("tests", master="local[2]", settings=SMALL)
    try:
        yield session
    finally:
        session.stop()

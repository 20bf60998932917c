"""Spark with both connectors: ours, and its own from Maven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.maven import spark_connector

from barnabas.pipelines.spark import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OURS, THEIRS = "barnabas", "kafka"

Rows = list[tuple[Any, ...]]


def session(master: str = "local[2]", **settings: str) -> SparkSession:
    return start_session(
        "conformance",
        master=master,
        settings={
            "spark.jars": ",".join(spark_connector()),
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            **settings,
        },
    )


def rows(frame: DataFrame) -> Rows:
    """All of them, in the order of topics, partitions and offsets."""
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: row[2:5])

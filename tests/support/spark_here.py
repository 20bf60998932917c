"""One Spark session for all tests of a worker, and queries that end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipelines import running
from barnabas.pipelines.running import Outcome
from barnabas.pipelines.spark import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY_S = 240
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


def session(**settings: str) -> SparkSession:
    """Small, and quick to start."""
    return start_session("tests", master="local[2]", settings={**SETTINGS, **settings})


def run(spark: SparkSession, start: Callable[[], Any]) -> Outcome:
    """Runs a pipeline to its end, as the command line does."""
    return running.run(spark, start, metrics="", show=lambda batch, outcome: None)


def run_available(frame: DataFrame, path: Path, **options: str) -> list[dict[str, Any]]:
    """Runs a query over what is there now into Parquet files, from its checkpoint; all its rows."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(path / "checkpoint"))
        .options(**options)
        .trigger(availableNow=True)
        .start(str(path / "rows"))
    )
    assert query.awaitTermination(QUERY_S)
    return [row.asDict() for row in frame.sparkSession.read.parquet(str(path / "rows")).collect()]

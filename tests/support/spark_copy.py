"""A program of its own: copies a topic to another, exactly once, on any Spark master.

python spark_copy.py MASTER BOOTSTRAP FROM TO CHECKPOINT RECORDS_PER_BATCH
"""

from __future__ import annotations

import sys

from barnabas.pipelines.spark import start_session


def main(*arguments: str) -> None:
    master, bootstrap, source, target, path, most = arguments
    settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}
    spark = start_session("copy", master=master, settings=settings)
    frame = (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", most)
        .load()
    )
    query = (
        frame.select("key", "value")
        .writeStream.format("barnabas")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", target)
        .option("exactlyOnce", "true")
        .option("checkpointLocation", path)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

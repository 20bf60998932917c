"""`barnabas pipeline archive`: topics into a lake of Parquet or JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.cli.command import Command
from barnabas.cli.options import Parsed
from barnabas.cli.pipeline import options_of, run_stream
from barnabas.pipelines.definition import Archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def run(args: Parsed) -> int:
    return run_stream(args, Archive, name="archive", what="archived", start=_start)


def _start(
    spark: SparkSession, definition: Archive, properties: Mapping[str, str]
) -> StreamingQuery:
    from barnabas.pipelines import archive

    return archive.start(spark, definition, properties)


COMMAND = Command(
    summary="Write topics into a lake of Parquet or JSON files, each record exactly once, until "
    "Ctrl-C or with --once until all is written.",
    examples=(
        "--topic orders --to lake",
        "--topic orders,payments --to lake --once",
        "--topic-pattern 'eu-.*' --to lake --format json --values text --partition-by topic,hour",
        "--file archive.toml",
    ),
    options=options_of(Archive),
    run=run,
    notes=(
        (
            "The same command, given again, goes on where it was. Any reader of Parquet can read "
            "the lake; what is in directories that begin with _ is not part of it."
        ),
    ),
)

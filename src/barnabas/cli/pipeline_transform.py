"""`barnabas pipeline transform`: a query, or a function, over topics into a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.cli.command import Command
from barnabas.cli.options import Parsed
from barnabas.cli.pipeline import options_of, run_stream
from barnabas.pipelines.definition import Transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def run(args: Parsed) -> int:
    return run_stream(args, Transform, name="transform", what="transformed", start=_start)


def _start(
    spark: SparkSession, definition: Transform, properties: Mapping[str, str]
) -> StreamingQuery:
    from barnabas.pipelines import transform

    return transform.start(spark, definition, properties)


COMMAND = Command(
    summary="Run a SQL query, or a function of Python, over topics and write its rows to a topic, "
    "each exactly once, until Ctrl-C or with --once until all is written.",
    examples=(
        "--file averages.sql",
        (
            "--topic orders --schema 'id LONG, amount DOUBLE' --to large --checkpoint state "
            "--query 'SELECT id AS key, id, amount FROM orders WHERE amount > 100'"
        ),
        "--topic orders --from-format text --function clean.py:clean --to clean --checkpoint state",
    ),
    options=options_of(Transform),
    run=run,
    notes=(
        (
            "A topic is a table with the columns of its values, and _key, _topic, _partition, "
            "_offset, _timestamp and _headers. Of the query's columns, key, headers, partition and "
            "topic are what they say, all others are the value."
        ),
        (
            "Readers that should not see what a crash left unfinished read with "
            "isolation.level=read_committed."
        ),
    ),
)

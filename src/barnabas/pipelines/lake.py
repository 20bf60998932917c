"""A lake as a DataFrame: which columns its files have, how they are written, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.hadoop_files import Files, HadoopFiles
from barnabas.pipelines.lake_journal import Description, description_of, settled_files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

Result = TypeVar("Result")

ATTEMPTS_MAX = 10
HEADERS = "ARRAY<STRUCT<key: STRING, value: BINARY>>"


def schema_of(description: Description) -> StructType:
    """Columns of the lake, those included that are names of its directories."""
    kind = "STRING" if description.values == "text" else "BINARY"
    columns = (
        f"key {kind}, value {kind}, topic STRING, partition INT, offset BIGINT, "
        f"timestamp TIMESTAMP, timestampType INT, headers {HEADERS}"
    )
    for name in ("date", "hour"):
        if name in description.partition_by:
            columns += f", {name} STRING"
    return columns_of(columns)


def columns_of(ddl: str) -> StructType:
    """Columns as people write them: `symbol STRING, price DOUBLE`."""
    from pyspark.sql.types import StructType

    columns = StructType.fromDDL(ddl)
    if not isinstance(columns, StructType):  # a type alone is one, too
        raise PipelineError(f'--schema: "{ddl}" is not of the form "symbol STRING, price DOUBLE"')
    return columns


def to_lake(rows: DataFrame, description: Description) -> DataFrame:
    """Rows of the source as a lake has them."""
    from pyspark.sql import functions as f

    moment = f.col("timestamp")
    made: dict[str, Column] = {}
    if description.values == "text":
        made = {name: f.col(name).cast("string") for name in ("key", "value")}
    if "date" in description.partition_by:
        made["date"] = f.date_format(moment, "yyyy-MM-dd")
    if "hour" in description.partition_by:
        made["hour"] = f.date_format(moment, "HH")
    return rows.withColumns(made).select(*schema_of(description).names)


def write(rows: DataFrame, path: str, description: Description) -> None:
    """One file for each task and directory."""
    writer = rows.write.mode("overwrite").format(description.format)
    directories = [name for name in description.partition_by if name in rows.columns]
    if directories:
        writer = writer.partitionBy(*directories)
    writer.save(path)


def read_files(
    spark: SparkSession, root: str, paths: Sequence[str], description: Description
) -> DataFrame:
    """Some files of the lake, with the columns that are names of directories."""
    reader = spark.read.schema(schema_of(description)).format(description.format)
    whole = [f"{root.rstrip('/')}/{path}" for path in paths]
    return reader.option("basePath", root).load(whole)


def read_lake(spark: SparkSession, root: str) -> DataFrame:
    """All that is in a lake now, in the columns of the source.

    If an archive merges files before they are read, what is done with these rows fails: see
    `with_lake`.
    """
    files = HadoopFiles(spark, root)
    return _rows(spark, root, _paths(files, root), description_of(files, root))


def with_lake(spark: SparkSession, root: str, use: Callable[[DataFrame], Result]) -> Result:
    """What is made of all that is in a lake, while an archive may write to it.

    Whatever error of Spark's it is that a file was missing, the file was listed and is not there
    any more: then its rows are in another one, and all is done once more.  So `use` must be
    something that can be cut short and done again.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    files = HadoopFiles(spark, root)
    description = description_of(files, root)
    attempts = 0
    while True:
        attempts += 1
        paths = _paths(files, root)
        try:
            return use(_rows(spark, root, paths, description))
        except (PySparkException, Py4JJavaError):
            if attempts == ATTEMPTS_MAX or set(paths) <= set(_paths(files, root)):
                raise


def _paths(files: Files, root: str) -> list[str]:
    paths = [each.path for each in settled_files(files)]
    if not paths:
        raise PipelineError(f"{root} is empty: nothing has been archived yet")
    return paths


def _rows(
    spark: SparkSession, root: str, paths: Sequence[str], description: Description
) -> DataFrame:
    rows = read_files(spark, root, paths, description)
    kept = [name for name in rows.columns if name not in ("date", "hour")]
    return rows.select(*kept).withColumns(
        {name: rows[name].cast("binary") for name in ("key", "value")}
    )

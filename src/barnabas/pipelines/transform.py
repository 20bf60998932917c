"""`barnabas pipeline transform`: a SQL query, or a function of Python, over topics into a topic.

Each topic is a table whose columns are those of its values, and `_key`, `_topic`, `_partition`,
`_offset`, `_timestamp`, `_headers`.  The query's columns become the record: `key`, `headers`,
`partition` and `topic` are what they say, all others its value.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.declaring import for_name
from barnabas.pipelines.definition import Transform
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake import columns_of
from barnabas.pipelines.reading import connector_options, stream_options, trigger_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

METADATA = ("key", "topic", "partition", "offset", "timestamp", "headers")
"""Columns of the source that tables have with an underscore before their names."""
PARTS = ("key", "headers", "partition", "topic")
"""Columns of a query that are not part of the value."""
CORRUPT = "_corrupt"


@dataclass(frozen=True, slots=True)
class Table:
    """One topic as a query sees it."""

    name: str
    topic: str
    format: str
    schema: str
    watermark: tuple[str, str] | None
    """A column, and how late a record may be."""


def tables_of(definition: Transform) -> list[Table]:
    """What each topic is to the query; an error names the table."""
    tables = []
    for written in definition.topic:
        given, equals, topic = written.partition("=")
        name = given if equals else re.sub(r"\W", "_", written)
        format_name = for_name(definition.from_format, name, "json")
        schema = for_name(definition.schema, name)
        if format_name in ("json", "csv") and not schema:
            raise PipelineError(
                f"--schema: the columns of {name} are missing, as in "
                f'--schema {name}="symbol STRING, price DOUBLE" (or --from-format text)'
            )
        watermark = for_name(definition.watermark, name)
        tables.append(
            Table(name, topic if equals else written, format_name, schema, _watermark(watermark))
        )
    known = [table.name for table in tables]
    for option in ("from_format", "schema", "watermark"):
        for name in getattr(definition, option):
            if name and name not in known:
                said = option.replace("_", "-")
                raise PipelineError(f"--{said}: there is no table {name}: {', '.join(known)}")
    return tables


def _watermark(text: str) -> tuple[str, str] | None:
    if not text:
        return None
    column, _, delay = text.partition(" ")
    if not delay.strip():
        raise PipelineError(f'--watermark: "{text}" is not of the form "at 10 seconds"')
    return column, delay.strip()


def start(
    spark: SparkSession, definition: Transform, properties: Mapping[str, str]
) -> StreamingQuery:
    """Begins, or goes on where the checkpoint is."""
    options = {**connector_options(properties), **stream_options(definition)}
    frames = []
    for table in tables_of(definition):
        source = spark.readStream.format("barnabas").options(
            **{**options, "subscribe": table.topic, "includeHeaders": "true"}
        )
        frame = to_table(source.load(), table, is_skipping=definition.bad_values == "skip")
        frame.createOrReplaceTempView(table.name)
        frames.append(frame)
    rows = _query(spark, definition, frames)
    if not rows.isStreaming:
        raise PipelineError("the rows do not come from the topics: nothing would ever be written")
    sink = {**connector_options(properties), "topic": definition.to}
    if not definition.at_least_once:
        sink["exactlyOnce"] = "true"
    writer = (
        to_records(rows, definition.to_format)
        .writeStream.queryName("transform")
        .format("barnabas")
        .outputMode(definition.mode)
        .options(**sink, checkpointLocation=definition.checkpoint)
    )
    return trigger_of(writer, definition).start()


def to_table(rows: DataFrame, table: Table, *, is_skipping: bool) -> DataFrame:
    """The columns of the values, and those of the source under other names."""
    from pyspark.sql import functions as f

    metadata = {f"_{name}": f.col(name) for name in METADATA}
    metadata["_key"] = f.col("key").cast("string")
    text = f.col("value").cast("string")
    named = [column.alias(name) for name, column in metadata.items()]
    if table.format in ("text", "bytes"):
        value = text if table.format == "text" else f.col("value")
        shown = rows.select(value.alias("value"), *named)
    else:
        shown = _parsed(rows.select(text.alias("value"), *named), table, is_skipping=is_skipping)
    return shown.withWatermark(*table.watermark) if table.watermark else shown


def _parsed(rows: DataFrame, table: Table, *, is_skipping: bool) -> DataFrame:
    """A value that is not of its format fails the query, or is left out; no value is no column."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType

    columns = columns_of(table.schema)
    names = columns.names
    options = {"mode": "FAILFAST"}
    if is_skipping:
        columns = columns.add(CORRUPT, StringType())
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    if table.format == "json":
        parsed = f.from_json(f.col("value"), columns, options)
    else:
        parsed = f.from_csv(f.col("value"), _ddl(columns), options)
    metadata = [name for name in rows.columns if name != "value"]
    shown = rows.select(parsed.alias("value"), *metadata)
    if is_skipping:
        shown = shown.where(f.col(f"value.{CORRUPT}").isNull())
    return shown.select(*(f.col(f"value.{name}").alias(name) for name in names), *metadata)


def _ddl(columns: StructType) -> str:
    """`from_csv` takes columns in no other form."""
    return ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in columns.fields)


def to_records(rows: DataFrame, format_name: str) -> DataFrame:
    """What the sink takes: key, value and where it goes."""
    from pyspark.sql import functions as f

    parts: list[Column] = []
    for name in PARTS:
        if name in rows.columns:
            column = f.col(name)
            parts.append(column if name != "key" else _key(rows, column).alias(name))
    others = [name for name in rows.columns if name not in PARTS]
    if format_name in ("text", "bytes"):
        if others != ["value"]:
            listed = ", ".join(others) or "none"
            raise PipelineError(f"--to-format {format_name}: one column value is needed: {listed}")
        value = f.col("value").cast("string" if format_name == "text" else "binary")
    else:
        if not others:
            raise PipelineError("the query has no column for the value of a record")
        shape = f.struct(*others)
        value = f.to_json(shape) if format_name == "json" else f.to_csv(shape)
    return rows.select(*parts, value.alias("value"))


def _key(rows: DataFrame, column: Column) -> Column:
    """Numbers and times are keys as text; bytes stay what they are."""
    return column if dict(rows.dtypes)["key"] == "binary" else column.cast("string")


def _query(spark: SparkSession, definition: Transform, frames: Sequence[DataFrame]) -> DataFrame:
    from pyspark.errors import AnalysisException, ParseException

    if definition.function:
        return _made_by_function(spark, definition.function, frames)
    try:
        return spark.sql(definition.query)
    except (AnalysisException, ParseException) as error:
        said = (error.getMessage() or str(error)).strip()
        raise PipelineError(f"--query: {' '.join(said.split())}") from None


def _made_by_function(spark: SparkSession, written: str, frames: Sequence[DataFrame]) -> DataFrame:
    """`PipelineError` says what went wrong in the function, or in its file."""
    from pyspark.sql import DataFrame

    try:
        rows = _load(spark, written)(*frames)
    except PipelineError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise PipelineError(f"--function: {written}: {type(error).__name__}: {said}") from error
    if not isinstance(rows, DataFrame):
        raise PipelineError(f"--function: {written} gave {type(rows).__name__}, not a DataFrame")
    return rows


def _load(spark: SparkSession, written: str) -> Callable[..., DataFrame]:
    """The function of a file; the file also goes to the executors, for functions on rows."""
    path, _, name = written.rpartition(":")
    if not path.endswith(".py") or not name.isidentifier():
        raise PipelineError(f'--function: "{written}" is not of the form FILE.py:NAME')
    if not Path(path).is_file():
        raise PipelineError(f"--function: there is no file {path}")
    spark.sparkContext.addPyFile(path)
    module_name = Path(path).stem
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise PipelineError(f"--function: {path} has no function {name}")
    return found  # type: ignore[no-any-return]

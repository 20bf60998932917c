"""Rows of a table as records: which columns there must be, and how they are taken out of Arrow.

Pure, but for what it asks of Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from barnabas.pipelines.errors import PipelineError

TEXT_OR_BYTES = ("string", "binary")
TYPES = {
    "key": TEXT_OR_BYTES,
    "value": TEXT_OR_BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
"""Columns that make a record, and the types that they may have; others are passed over."""
NO_PARTITION = -1

HeaderList = list[tuple[str, str | bytes | None]]


class Row(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    partition: int
    headers: HeaderList | None


def check_columns(columns: Mapping[str, str], topic: str | None) -> None:
    """`columns` are names with Spark's names of their types."""
    if "value" not in columns:
        raise PipelineError(f"no column value; there are {', '.join(columns) or 'none'}")
    if topic is None and "topic" not in columns:
        raise PipelineError("where to? There is neither a column topic nor the option topic")
    for name, types in TYPES.items():
        found = columns.get(name)
        if found is not None and found not in types and not (name == "topic" and topic):
            raise PipelineError(f"column {name}: {' or '.join(types)} is expected, not {found}")


def rows_of(batch: pa.RecordBatch, topic: str | None) -> Iterator[Row]:
    """A row without a topic is an error, one without a partition goes where its key says."""
    count = batch.num_rows
    nothing = [None] * count
    names = batch.schema.names
    keys = _bytes(batch.column("key")) if "key" in names else nothing
    values = _bytes(batch.column("value"))
    topics = [topic] * count if topic is not None else batch.column("topic").to_pylist()
    partitions = batch.column("partition").to_pylist() if "partition" in names else nothing
    headers = batch.column("headers").to_pylist() if "headers" in names else nothing
    for where, key, value, partition, pairs in zip(
        topics, keys, values, partitions, headers, strict=True
    ):
        if where is None:
            raise PipelineError("a row has no topic; the option topic sets it for all")
        yield Row(
            where,
            key,
            value,
            NO_PARTITION if partition is None else partition,
            [(pair["key"], pair["value"]) for pair in pairs] if pairs else None,
        )


def has_headers(batch: pa.RecordBatch) -> bool:
    """Whether any of its rows has some."""
    if "headers" not in batch.schema.names:
        return False
    column = batch.column("headers")
    return bool(column.null_count < len(column))


def messages_of(
    batch: pa.RecordBatch, topic: str | None, most: int
) -> Iterator[tuple[str, int, list[dict[str, bytes | None]]]]:
    """Rows without headers as `Producer.produce_batch` takes them: topics and partitions with up to
    `most` records each, in the order of the rows.
    """
    for start in range(0, batch.num_rows, most):
        rows = rows_of(batch.slice(start, most), topic)
        for (where, partition), run in groupby(rows, lambda row: (row.topic, row.partition)):
            yield where, partition, [{"key": row.key, "value": row.value} for row in run]


def _bytes(column: pa.Array) -> list[bytes | None]:
    """Text as UTF-8, without looking at it."""
    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found

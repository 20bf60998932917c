"""What reconcile compares: payload logs, topics and lakes, as records with places.

A record is four columns that say which one it is: topic, partition, key and the hash of its value.
Its place is a number that grows with its order in one log: an offset, or for a file 17 bits for the
block of 4 MB in which Spark began to read, and 31 for the row since then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.hadoop_files import located
from barnabas.pipelines.lake import read_lake
from barnabas.pipelines.reading import connector_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from barnabas.pipelines.definition import Reconcile

Partition = tuple[str, int]
Block = tuple[int, int]
"""Number of a log, and of a block in it."""

PLACE_BITS = 48
ROW_BITS = 31
BLOCK_BITS = 22
BLOCK_BYTES = 1 << BLOCK_BITS
BYTES_MAX = 1 << (PLACE_BITS - ROW_BITS + BLOCK_BITS)
LOGS_MAX = 1 << (63 - PLACE_BITS)
FIELDS = 4
"""Of a line of a payload log: topic,partition,key,value; only the last may have commas."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One thing that records come from."""

    number: int
    name: str
    rows: DataFrame
    """Columns: topic, partition, key, digest, place, and block where it is a file."""
    is_file: bool


def expanded(spark: SparkSession, names: Sequence[str]) -> list[str]:
    """What was named, each file of a pattern by itself; a pattern that fits nothing is an error."""
    found: list[str] = []
    for name in names:
        if name.startswith(("topic:", "lake:")):
            found.append(name)
        else:
            found += _files(spark, name)
    return found


def _files(spark: SparkSession, pattern: str) -> list[str]:
    path, file_system = located(spark, pattern)
    matches = file_system.globStatus(path)
    if not matches:
        raise PipelineError(f"there is no file {pattern}")
    for each in matches:
        if each.getLen() >= BYTES_MAX:
            raise PipelineError(f"{each.getPath().toString()} is larger than {BYTES_MAX} bytes")
    return sorted(each.getPath().toString() for each in matches if each.isFile())


class Opening:
    """Numbers what records come from, and opens it."""

    def __init__(
        self, spark: SparkSession, definition: Reconcile, properties: Mapping[str, str]
    ) -> None:
        self._spark = spark
        self._options = {
            **connector_options(properties),
            "kafka.isolation.level": definition.isolation,
        }
        self._count = 0

    def origin(self, name: str) -> Origin:
        number, self._count = self._count, self._count + 1
        kind, _, rest = name.partition(":")
        match kind:
            case "topic":
                options = {**self._options, "subscribe": rest}
                rows = _of_records(self._spark.read.format("barnabas").options(**options).load())
            case "lake":
                rows = _of_records(read_lake(self._spark, rest))
            case _:
                rows = of_log(self._spark, name)
        return Origin(
            number, name.removeprefix("file:"), rows, is_file=kind not in ("topic", "lake")
        )


def of_log(spark: SparkSession, path: str) -> DataFrame:
    """A payload log as records; a line with fewer than three commas, or without a number
    of a partition, is none: it has no topic, or no partition, which `totals_of` does not let pass.
    """
    from pyspark.sql import functions as f

    rows = spark.read.text(path)
    block = f.shiftright(f.col("_metadata.file_block_start"), BLOCK_BITS)
    row = f.monotonically_increasing_id().bitwiseAND(f.lit(2**ROW_BITS - 1))
    parts = f.split(f.col("value"), ",", FIELDS)
    numbered = rows.select(
        parts.alias("parts"),
        block.alias("block"),
        (f.shiftleft(block, ROW_BITS) + row).alias("place"),
    )
    return numbered.select(
        f.when(f.size("parts") == FIELDS, f.col("parts")[0]).alias("topic"),
        f.try_element_at(f.col("parts"), f.lit(2)).try_cast("int").alias("partition"),
        f.try_element_at(f.col("parts"), f.lit(3)).alias("key"),
        f.xxhash64(f.try_element_at(f.col("parts"), f.lit(4))).alias("digest"),
        "place",
        "block",
    )


def _of_records(rows: DataFrame) -> DataFrame:
    """Records of a topic as a log would have them: as text, and no key as an empty one."""
    from pyspark.sql import functions as f

    def text(name: str) -> Column:
        return f.coalesce(f.col(name).cast("string"), f.lit(""))

    return rows.select(
        "topic",
        "partition",
        text("key").alias("key"),
        f.xxhash64(text("value")).alias("digest"),
        f.col("offset").alias("place"),
        f.lit(0).cast("long").alias("block"),
    )


def totals_of(
    sent: Sequence[Origin], received: Sequence[Origin]
) -> tuple[dict[Partition, list[int]], dict[Block, tuple[int, int]]]:
    """How many records each partition has on each side; and for each block of a file, the row that
    it begins with and how many lines are before it.
    """
    from pyspark.sql import functions as f

    sides = [(0, each) for each in sent] + [(1, each) for each in received]
    rows = union([numbered(each).withColumn("side", f.lit(side)) for side, each in sides])
    row = f.col("place").bitwiseAND(f.lit(2**ROW_BITS - 1))
    counted = (
        rows.groupBy("side", "log", "block", "topic", "partition")
        .agg(f.count(f.lit(1)).alias("rows"), f.min(row).alias("first"))
        .collect()
    )
    totals: dict[Partition, list[int]] = {}
    blocks: dict[Block, tuple[int, int]] = {}
    names = {each.number: each.name for each in (*sent, *received)}
    for each in counted:
        if each["topic"] is None or each["partition"] is None:
            raise PipelineError(
                f"{names[each['log']]}: {each['rows']} lines are not topic,partition,key,value"
            )
        totals.setdefault((each["topic"], each["partition"]), [0, 0])[each["side"]] += each["rows"]
        first, rows_so_far = blocks.get((each["log"], each["block"]), (each["first"], 0))
        blocks[each["log"], each["block"]] = (
            min(first, each["first"]),
            rows_so_far + each["rows"],
        )
    return totals, first_lines(blocks)


def first_lines(
    blocks: Mapping[Block, tuple[int, int]],
) -> dict[Block, tuple[int, int]]:
    """From first row and number of rows of each block: first row, and lines before it (pure)."""
    found: dict[Block, tuple[int, int]] = {}
    before: dict[int, int] = {}
    for (log, block), (first, count) in sorted(blocks.items()):
        found[log, block] = (first, before.get(log, 0))
        before[log] = before.get(log, 0) + count
    return found


def numbered(origin: Origin) -> DataFrame:
    from pyspark.sql import functions as f

    return origin.rows.withColumn("log", f.lit(origin.number))


def union(parts: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right), parts)

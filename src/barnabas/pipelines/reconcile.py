"""`barnabas pipeline reconcile`: what was sent beside what was received, at any scale.

Two records are the same if topic, partition and key are, and the 64-bit hash of their values.  Of
each record both sides are counted, in one shuffle:

- **lost**: sent more often than received;
- **duplicated**: received more often than sent;
- **foreign**: received, and never sent;
- **reordered**: received after a record that was sent later, to the same partition.  Order means
  something within one log only, so records are compared with those of the same producer's and
  consumer's log.

Where a record was first seen on each side is one number, 15 bits for the log and 48 for its place
there, so that Spark can find the least of them in its fast aggregation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.reconcile_origins import (
    BLOCK_BYTES,
    LOGS_MAX,
    PLACE_BITS,
    ROW_BITS,
    Block,
    Opening,
    Origin,
    Partition,
    expanded,
    numbered,
    totals_of,
    union,
)
from barnabas.pipelines.reconcile_report import KINDS, Count, Finding, Report

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from barnabas.pipelines.definition import Reconcile

IDENTITY = ("topic", "partition", "key", "digest")
SIDES = ("sent", "received")
BLOCKS = {"openCostInBytes": 1, "maxPartitionBytes": 32}
"""How small and how large the parts are in which Spark reads files."""


def reconcile(
    spark: SparkSession, definition: Reconcile, properties: Mapping[str, str], folder: str
) -> Report:
    """Compares; every difference is left in `folder`, as Parquet."""
    for bound in ("openCostInBytes", "maxPartitionBytes"):  # no block begins within another one
        spark.conf.set(f"spark.sql.files.{bound}", str(BLOCK_BYTES * BLOCKS[bound]))
    opened = Opening(spark, definition, properties)
    sent = [opened.origin(what) for what in expanded(spark, definition.sent)]
    received = [opened.origin(what) for what in expanded(spark, definition.received)]
    if len(sent) + len(received) >= LOGS_MAX:
        raise PipelineError(f"more than {LOGS_MAX} logs at once: put some of them together")
    totals, lines = totals_of(sent, received)
    if definition.topic:
        totals = {place: total for place, total in totals.items() if place[0] in definition.topic}
    found = differences(_together(sent, received, definition.topic))
    origins = [*sent, *received]
    files = [each.number for each in origins if each.is_file]
    named = _with_lines(found, _places(spark, origins, lines), files)
    named.write.mode("overwrite").parquet(folder)
    written = spark.read.schema(named.schema).parquet(folder)
    return _report(written, totals, definition.limit)


def _together(
    sent: Sequence[Origin], received: Sequence[Origin], topics: Sequence[str]
) -> DataFrame:
    """A row for each record: how often each side has it, and where first."""
    from pyspark.sql import functions as f

    def of_side(origins: Sequence[Origin], side: str) -> DataFrame:
        other = "received" if side == "sent" else "sent"
        place = f.shiftleft(f.col("log").cast("long"), PLACE_BITS) + f.col("place")
        rows = union([numbered(each) for each in origins])
        chosen = rows.where(rows.topic.isin(*topics)) if topics else rows
        return chosen.select(
            *IDENTITY,
            f.lit(1).alias(side),
            f.lit(0).alias(other),
            place.alias(f"{side}_place"),
            f.lit(None).cast("long").alias(f"{other}_place"),
        )

    both = of_side(sent, "sent").unionByName(of_side(received, "received"))
    return both.groupBy(*IDENTITY).agg(
        f.sum("sent").alias("sent"),
        f.sum("received").alias("received"),
        f.min("sent_place").alias("sent_place"),
        f.min("received_place").alias("received_place"),
    )


def differences(records: DataFrame) -> DataFrame:
    """The records that are not as they should be; one that is reordered may be duplicated, too."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    def log_of(side: str) -> Column:
        return f.shiftright(f.col(f"{side}_place"), PLACE_BITS)

    sent, received = f.col("sent"), f.col("received")
    before = (
        Window.partitionBy("topic", "partition", log_of("sent"), log_of("received"))
        .orderBy("received_place")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    is_late = f.max("sent_place").over(before) > f.col("sent_place")
    is_on_both = (sent > 0) & (received > 0)
    marked = records.select(
        "*",
        f.array_compact(
            f.array(
                f.when(sent > received, f.lit("lost")),
                f.when((received > sent) & (sent > 0), f.lit("duplicated")),
                f.when(sent == 0, f.lit("foreign")),
                f.when(is_on_both & is_late, f.lit("reordered")),
            )
        ).alias("kinds"),
    )
    return marked.where(f.size("kinds") > 0).select(
        f.explode("kinds").alias("kind"),
        *IDENTITY,
        "sent",
        "received",
        "sent_place",
        "received_place",
    )


def _places(
    spark: SparkSession, origins: Sequence[Origin], lines: Mapping[Block, tuple[int, int]]
) -> DataFrame:
    """Of each block of a log: its name, the row it begins with, and how many lines are before it.

    A topic or a lake is one block, and `first` is null: its places are offsets.
    """
    table = [
        (each.number, block, each.name, *(span if each.is_file else (None, None)))
        for each in origins
        for (log, block), span in lines.items()
        if log == each.number
    ]
    return spark.createDataFrame(
        table, "log LONG, block LONG, name STRING, first LONG, before LONG"
    )


def _with_lines(found: DataFrame, places: DataFrame, files: Sequence[int]) -> DataFrame:
    """Places as people look for them: the name of the log, and a line of it, or an offset."""
    from pyspark.sql import functions as f

    for side in SIDES:
        place = f.col(f"{side}_place")
        log = f.shiftright(place, PLACE_BITS)
        inside = place.bitwiseAND(f.lit(2**PLACE_BITS - 1))
        block = f.when(log.isin(*files), f.shiftright(inside, ROW_BITS)).otherwise(f.lit(0))
        row = inside.bitwiseAND(f.lit(2**ROW_BITS - 1))
        line = f.col("before") + row - f.col("first") + 1
        found = (
            found.withColumns({"log": log, "block": block})
            .join(f.broadcast(places), ["log", "block"], "left")
            .withColumns({f"{side}_in": f.col("name"), f"{side}_at": f.coalesce(line, inside)})
            .drop(*places.columns)
        )
    times = (
        f.when(f.col("kind") == "lost", f.col("sent") - f.col("received"))
        .when(f.col("kind") == "reordered", f.lit(1))
        .otherwise(f.col("received") - f.col("sent"))
    )
    kept = ("kind", "topic", "partition", "key")
    return found.select(
        *kept, times.alias("times"), *(f"{side}_{what}" for side in SIDES for what in ("in", "at"))
    )


def _report(found: DataFrame, totals: Mapping[Partition, Sequence[int]], limit: int) -> Report:
    from pyspark.sql import functions as f

    by_kind: dict[Partition, dict[str, int]] = {}
    counted = found.groupBy("topic", "partition", "kind").agg(f.sum("times").alias("times"))
    for row in counted.collect():
        by_kind.setdefault((row["topic"], row["partition"]), {})[row["kind"]] = row["times"]
    counts = tuple(
        Count(topic=topic, partition=number, sent=sent, received=received, **by_kind.get(place, {}))
        for place, (sent, received) in sorted(totals.items())
        for topic, number in (place,)
    )
    order = ("topic", "partition", f.coalesce("sent_at", "received_at"), "key")
    listed = [
        Finding(**row.asDict())
        for kind in KINDS
        if limit and any(kind in kinds for kinds in by_kind.values())
        for row in found.where(f.col("kind") == kind).orderBy(*order).limit(limit).collect()
    ]
    return Report(counts=counts, findings=tuple(listed))

"""`barnabas pipeline replay`: a lake back into topics, each record once, in the order of offsets.

A plan is made once and kept in the checkpoint: the replay's name, and how far each partition of the
lake reaches.  Offsets are then written run by run, the same run of all partitions in one Spark job:
a task has whole partitions, sorted, and writes them in one transaction.  What a run consists of
depends on the plan alone, not on files, which may be compacted meanwhile.  So a run that was cut
short, by a crash or because a file of it was merged into another one, is written again, and the
sink leaves out what its transactions say is there.
"""

from __future__ import annotations

import difflib
import json
import queue
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from barnabas.pipelines.definition import Replay
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.hadoop_files import Files, HadoopFiles
from barnabas.pipelines.lake import with_lake
from barnabas.pipelines.reading import connector_options
from barnabas.pipelines.running import (
    Batch,
    Events,
    Outcome,
    is_stop_wanted,
    may_be_cut_short,
    note,
    noted_signals,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PLAN = "plan.json"
DONE = "done"
LISTED_MAX = 10
BATCH_ID = "streaming.sql.batchId"
"""What tells the sink which batch it writes; a stream would set it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a replay is; the same however often it is begun again."""

    name: str
    lake: str
    asked: str
    """What was asked for, in one text: another wish is another replay."""
    size: int
    """Offsets of each partition in a run."""
    tasks: int
    ends: tuple[tuple[str, int, int], ...]
    """Topic, partition, and the last offset that was in the lake."""
    runs: tuple[int, ...]
    """Numbers of the runs that have records: run n has offsets from n * size on."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        fields = json.loads(text)
        fields["ends"] = tuple((topic, number, end) for topic, number, end in fields["ends"])
        fields["runs"] = tuple(fields["runs"])
        return Plan(**fields)


def wish_of(definition: Replay) -> str:
    """What of a definition makes it this replay and no other (pure)."""
    renamed = sorted(definition.rename.items())
    return json.dumps([sorted(definition.topic), definition.where, renamed, definition.partitions])


def run(
    spark: SparkSession,
    definition: Replay,
    properties: Mapping[str, str],
    *,
    begin: Callable[[Plan], None],
    show: Callable[[Batch, Outcome], None],
) -> Outcome:
    """Writes what is left of the replay."""
    checkpoint = HadoopFiles(spark, definition.checkpoint)
    plan = kept_plan(checkpoint, definition)
    if plan is None:
        plan = with_lake(spark, definition.lake, lambda rows: new_plan(rows, definition))
        checkpoint.write(PLAN, plan.to_json())
    begin(plan)
    ends = spark.createDataFrame(list(plan.ends), "topic STRING, partition INT, last BIGINT")
    outcome = Outcome()
    events: Events = queue.SimpleQueue()
    with (
        noted_signals(events, second_interrupts=True),
        may_be_cut_short(spark, events, outcome),
    ):
        for number in plan.runs:
            if is_stop_wanted(events, outcome):
                break
            if checkpoint.exists(f"{DONE}/{number:010d}"):
                continue
            begun = time.monotonic()
            write = partial(
                _write, ends, plan, number, definition=definition, properties=properties
            )
            written = with_lake(spark, definition.lake, write)
            checkpoint.write(f"{DONE}/{number:010d}", str(written))
            took_s = time.monotonic() - begun
            note(_batch(number, written, took_s), outcome, definition.metrics, show)
    return outcome


def chosen(rows: DataFrame, definition: Replay) -> DataFrame:
    """The records that are meant."""
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions as f

    if definition.topic:
        rows = rows.where(f.col("topic").isin(*definition.topic))
    try:
        return rows.where(definition.where) if definition.where else rows
    except (AnalysisException, ParseException) as error:
        said = (error.getMessage() or str(error)).strip()
        raise PipelineError(f"--where: {' '.join(said.split())}") from None


def kept_plan(files: Files, definition: Replay) -> Plan | None:
    """The plan of a replay that was begun; an error if it was another one."""
    if not files.exists(PLAN):
        return None
    plan = Plan.from_json(files.read(PLAN))
    if (plan.lake, plan.asked) != (definition.lake, wish_of(definition)):
        raise PipelineError(
            f"{definition.checkpoint} is that of another replay: give each one of its own"
        )
    return plan


def new_plan(rows: DataFrame, definition: Replay) -> Plan:
    """What a replay of these rows is; `PipelineError` if that is nothing, or names are wrong."""
    from pyspark.sql import functions as f

    if definition.topic or definition.rename:
        known = [row["topic"] for row in rows.select("topic").distinct().collect()]
        check_names(definition, sorted(known))
    size = definition.offsets_per_batch
    run_of = f.floor(f.col("offset") / f.lit(size)).cast("long")
    found = (
        chosen(rows, definition)
        .groupBy("topic", "partition")
        .agg(f.max("offset").alias("last"), f.collect_set(run_of).alias("runs"))
        .collect()
    )
    if not found:
        where = f"--where: no record in {definition.lake} is such"
        raise PipelineError(where if definition.where else f"{definition.lake} has no records")
    return Plan(
        name=f"replay-{uuid.uuid4()}",
        lake=definition.lake,
        asked=wish_of(definition),
        size=size,
        tasks=max(1, min(len(found), rows.sparkSession.sparkContext.defaultParallelism)),
        ends=tuple(sorted((row["topic"], row["partition"], row["last"]) for row in found)),
        runs=tuple(sorted({number for row in found for number in row["runs"]})),
    )


def check_names(definition: Replay, known: Sequence[str]) -> None:
    """`PipelineError` if a topic was named that is not in the lake, or not replayed (pure)."""
    for option, names in (("topic", definition.topic), ("rename", definition.rename)):
        missing = [name for name in names if name not in known]
        if missing:
            raise PipelineError(
                f"--{option}: {', '.join(missing)} not in {definition.lake}, which has "
                f"{_listed(missing[0], known)}"
            )
    left_out = [name for name in definition.rename if name not in (definition.topic or known)]
    if left_out:
        raise PipelineError(f"--rename: {', '.join(left_out)} is left out by --topic")


def _listed(name: str, known: Sequence[str]) -> str:
    """What there is; of many, those that are most like a name."""
    if len(known) <= LISTED_MAX:
        return ", ".join(known)
    near = difflib.get_close_matches(name, known, n=LISTED_MAX, cutoff=0)
    return f"{len(known)} topics: {', '.join(near)}, ..."


def _write(
    ends: DataFrame,
    plan: Plan,
    number: int,
    rows: DataFrame,
    *,
    definition: Replay,
    properties: Mapping[str, str],
) -> int:
    """Writes one run of a lake's rows; how many records it has."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    first = number * plan.size
    counted = Observation()
    run = (
        chosen(rows, definition)
        .where((f.col("offset") >= first) & (f.col("offset") < first + plan.size))
        .join(f.broadcast(ends), ["topic", "partition"])
        .where(f.col("offset") <= f.col("last"))
        .repartition(plan.tasks, "topic", "partition")
        .sortWithinPartitions("topic", "partition", "offset")
        .observe(counted, f.count(f.lit(1)).alias("rows"))
    )
    columns = [f.col("key"), f.col("value"), f.col("headers"), _new_name(definition).alias("topic")]
    if definition.partitions == "keep":
        columns.append(f.col("partition"))
    options = {
        **connector_options(properties),
        "exactlyOnce": "true",
        "exactlyOnceId": plan.name,
    }
    rows.sparkSession.sparkContext.setLocalProperty(BATCH_ID, str(number))
    run.select(*columns).write.format("barnabas").mode("append").options(**options).save()
    return int(counted.get["rows"])


def _new_name(definition: Replay) -> Column:
    from pyspark.sql import functions as f

    topic = f.col("topic")
    name = topic
    for old, new in definition.rename.items():
        name = f.when(topic == old, f.lit(new)).otherwise(name)
    return name


def _batch(number: int, rows: int, took_s: float) -> Batch:
    took_ms = round(took_s * 1000)
    return Batch(
        batch=number,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        rows=rows,
        rows_per_second=round(rows / took_s, 1) if took_s else 0.0,
        duration_ms=took_ms,
        durations_ms={"write": took_ms},
    )

"""Topics as batches: `spark.read.format("barnabas")`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from barnabas.base.errors import ApiError
from barnabas.client.errors import ClientError
from barnabas.pipelines.cluster import Cluster
from barnabas.pipelines.decode import decode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.fetching import RangeReader
from barnabas.pipelines.offsets import (
    LATEST,
    Bound,
    OffsetRange,
    Offsets,
    Place,
    questions,
    ranges,
    split,
)
from barnabas.pipelines.options import SourceOptions, source_options

COLUMNS = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "timestampType int"
)
HEADERS_COLUMN = ", headers array<struct<key: string, value: binary>>"


class RangePartition(InputPartition):
    """One task's share."""

    def __init__(self, span: OffsetRange) -> None:
        super().__init__(span)
        self.span = span


def open_cluster(options: SourceOptions, *, is_patient: bool = False) -> Cluster:
    timeout_s = options.poll_timeout_ms / 1000
    return Cluster(options.properties, timeout_s=timeout_s, is_patient=is_patient)


def check_topics(options: Mapping[str, str]) -> None:
    """`PipelineError` if what a stream with these options is to read is not there."""
    parsed = source_options(options, is_stream=True)
    cluster = open_cluster(parsed)
    try:
        cluster.chosen(parsed.choice)
    except ClientError as error:
        raise PipelineError(str(error)) from None
    finally:
        cluster.close()


def resolve(
    cluster: Cluster,
    options: SourceOptions,
    bound: Bound,
    places: Mapping[Place, object],
    which: str,
) -> Offsets:
    """The offsets that a bound means now; `which` is `starting` or `ending`."""
    asked = questions(bound, places, f"{which}Offsets")
    found = dict(asked.known)
    found |= cluster.offsets(asked.edges, is_committed_only=options.is_committed_only)
    by_time = cluster.offsets(asked.times, is_committed_only=options.is_committed_only)
    late = {place: LATEST for place, offset in by_time.items() if offset < 0}
    if late and which == "starting" and not options.late_start_is_latest:
        topic, number = min(late)
        raise PipelineError(
            f"{topic}-{number} has no record of the starting time or later; to begin at its end, "
            "set startingOffsetsByTimestampStrategy to latest"
        )
    found |= by_time
    found |= cluster.offsets(late, is_committed_only=options.is_committed_only)
    return found


def read_range(options: SourceOptions, span: OffsetRange) -> Iterator[pa.RecordBatch]:
    """What a task does.  Brokers may be away for a while: that is no reason to fail a job."""
    cluster = open_cluster(options, is_patient=True)
    try:
        for fetched in RangeReader(cluster, span, options):
            yield from decode(
                fetched,
                span,
                with_headers=options.include_headers,
                check_crcs=options.check_crcs,
            )
    except ApiError as error:
        raise PipelineError(f"{span.topic}-{span.partition}: {error}") from error
    finally:
        cluster.close()


class TopicReader(DataSourceReader):
    """Plans on the driver, where offsets are looked up; reads in the tasks."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        options = self._options
        cluster = open_cluster(options)
        try:
            places = cluster.chosen(options.choice)
            start = resolve(cluster, options, options.starting, places, "starting")
            end = resolve(cluster, options, options.ending, places, "ending")
        except ClientError as error:
            raise PipelineError(str(error)) from None
        finally:
            cluster.close()
        found = split(
            ranges(start, end),
            min_partitions=options.min_partitions,
            max_records=options.max_records,
        )
        return [RangePartition(span) for span in found]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Spark asks for no partition at all where there is nothing to read."""
        if not isinstance(partition, RangePartition):
            return iter(())
        return read_range(self._options, partition.span)

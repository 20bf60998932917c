"""Topics as streams: `spark.readStream.format("barnabas")`.

On the driver one process holds the reader for as long as the query runs; it looks up offsets and
shares them out.  Tasks have copies of it that only read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from barnabas.client.errors import ClientError
from barnabas.pipelines.cluster import Cluster
from barnabas.pipelines.errors import DataLossError, PipelineError
from barnabas.pipelines.offsets import (
    BEGAN,
    EARLIEST,
    LATEST,
    Json,
    Offsets,
    Place,
    began_at,
    from_json,
    limited,
    moves,
    ranges,
    split,
    to_json,
)
from barnabas.pipelines.options import SourceOptions
from barnabas.pipelines.source import RangePartition, open_cluster, read_range, resolve

LOG = logging.getLogger(__name__)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are those of the next records, as everywhere in Kafka.

    Where the first batch begins stands in its end (`began_at`), which Spark keeps.  A start that
    depends on the moment (`latest`, a time) must be kept before there is anything to read: the
    first batch is then an empty one.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster: Cluster | None = None
        self._initial: Offsets | None = None
        """The start, until a batch has it."""
        self._is_until_now = False
        self._target: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies begin anew: connections belong to one process."""
        return {**self.__dict__, "_cluster": None}

    # On the driver.

    def initialOffset(self) -> Json:  # noqa: N802 (Spark's name)
        options = self._options
        cluster = self._connected()
        try:
            places = cluster.chosen(options.choice)
            start = resolve(cluster, options, options.starting, places, "starting")
        except ClientError as error:
            raise PipelineError(str(error)) from None
        self._initial = start
        return to_json(start)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        self._is_until_now = True

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: N802 (Spark's name)
        begin = from_json(start)
        end = self._ends()
        initial, self._initial = self._initial, None
        is_first = begin == initial and BEGAN not in start
        if is_first and moves(self._options.starting):
            end = begin
        elif isinstance(limit, ReadMaxRows):
            begins = self._begins(begin, end)
            there = {place: offset for place, offset in end.items() if place in begins}
            end = limited(begins, there, limit.max_rows)
        if is_first:
            return to_json(end, began=begin)
        return start if end == begin else to_json(end)

    def reportLatestOffset(self) -> Json | None:  # noqa: N802 (Spark's name)
        return to_json(self._looked_up())

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """The same offsets give the same tasks, also after a restart."""
        begin, until = began_at(start, end), from_json(end)
        if begin == until:
            return []
        if gone := begin.keys() - until.keys():
            self._lose(f"{_names(gone)}: deleted before everything in it was read")
        begins = self._begins(begin, until)
        if gone := until.keys() - begins.keys():
            self._lose(f"{_names(gone)}: deleted before anything in it was read")
        until = {place: offset for place, offset in until.items() if place in begins}
        for topic, number in sorted(until.keys() - begin.keys()):
            if first := begins[topic, number]:
                self._lose(f"{topic}-{number}: new, and begins at offset {first} already")
        for (topic, number), offset in sorted(until.items()):
            if offset < (before := begins[topic, number]):
                self._lose(f"{topic}-{number}: was read up to {before}, and ends at {offset} now")
        found = split(
            ranges(begins, until),
            min_partitions=self._options.min_partitions,
            max_records=self._options.max_records,
        )
        return [RangePartition(span) for span in found]

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = open_cluster(self._options)
        return self._cluster

    def _ends(self) -> Offsets:
        """Up to where records are there; or were, as a query of what is available now began."""
        if not self._is_until_now:
            return self._looked_up()
        if self._target is None:
            self._target = self._looked_up()
        return dict(self._target)

    def _looked_up(self) -> Offsets:
        cluster = self._connected()
        try:
            places = cluster.chosen(self._options.choice)
            return cluster.offsets(
                dict.fromkeys(places, LATEST), is_committed_only=self._options.is_committed_only
            )
        except ClientError as error:
            raise PipelineError(str(error)) from None

    def _begins(self, begin: Offsets, end: Offsets) -> Offsets:
        """Partitions that are new are read from their beginnings; those that are not there any more
        have none.
        """
        cluster = self._connected()
        try:
            new = cluster.there(end.keys() - begin.keys())
            return begin | cluster.offsets(dict.fromkeys(new, EARLIEST))
        except ClientError as error:
            raise PipelineError(str(error)) from None

    def _lose(self, text: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(text)
        LOG.warning("%s", text)

    # In tasks.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, RangePartition):
            return iter(())
        return read_range(self._options, partition.span)


def _names(places: Iterable[Place]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(places))

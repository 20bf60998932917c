"""`barnabas pipeline archive`: topics into a lake of Parquet or JSON files, each record once.

Spark's own file sink keeps a list of valid files beside the files, which only Spark reads: anything
else sees what crashed attempts left behind, and compacting would break it.  So each batch goes
through the lake's journal (`lake_journal.py`), and what lies in the directories is all of it and
nothing else.

Threads: `write_batch` is called by Spark, on a thread of its callback server, one batch at a time.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines import lake
from barnabas.pipelines.definition import Archive
from barnabas.pipelines.hadoop_files import FileInfo, Files, HadoopFiles
from barnabas.pipelines.lake_journal import Description, Journal, describe
from barnabas.pipelines.reading import connector_options, stream_options, trigger_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

MB = 1024 * 1024


def start(
    spark: SparkSession, definition: Archive, properties: Mapping[str, str]
) -> StreamingQuery:
    """Begins, or goes on where the lake's checkpoint is; whoever archived into it has to end."""
    from barnabas.pipelines.source import check_topics

    description = Description(
        format=definition.format,
        values=definition.values,
        partition_by=definition.partition_by,
    )
    chosen = (
        {"subscribePattern": definition.topic_pattern}
        if definition.topic_pattern
        else {"subscribe": ",".join(definition.topic)}
    )
    options = {
        **connector_options(properties),
        **stream_options(definition),
        **chosen,
        "includeHeaders": "true",
    }
    check_topics(options)  # before a lake is made, or taken from another archive
    files = HadoopFiles(spark, definition.to)
    describe(files, description)
    journal = Journal(files)
    archiver = Archiver(
        spark=spark,
        root=files.root,
        files=files,
        journal=journal,
        description=description,
        compact_files=definition.compact_files,
        compact_bytes=definition.compact_mb * MB,
    )
    rows = spark.readStream.format("barnabas").options(**options).load()
    writer = (
        rows.writeStream.queryName("archive")
        .option("checkpointLocation", f"{files.root}/{journal.checkpoint}")
        .foreachBatch(archiver.write_batch)
    )
    return trigger_of(writer, definition).start()


@dataclass(slots=True, kw_only=True)
class Archiver:
    """Takes batches into the lake, and makes large files of small ones between them."""

    spark: SparkSession
    root: str
    files: Files
    journal: Journal
    description: Description
    compact_files: int
    compact_bytes: int

    def write_batch(self, rows: DataFrame, batch: int) -> None:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            self._take_in(rows, batch)
        except (PySparkException, Py4JJavaError, FileNotFoundError):
            self.journal.check()  # who takes over clears away what is staged, and merges files
            raise

    def _take_in(self, rows: DataFrame, batch: int) -> None:
        query = query_id(self.spark)
        if self.journal.has_batch(query, batch):
            return
        staged = self._stage(lake.to_lake(rows, self.description))
        self.journal.commit(query=query, batch=batch, moves=staged)
        if self.compact_files:
            for directory in sorted({posixpath.dirname(target) for _, target in staged}):
                self._compact(directory)

    def _stage(self, rows: DataFrame) -> tuple[tuple[str, str], ...]:
        """Writes rows where nobody looks; which file is to become which."""
        staging = self.journal.staging()
        lake.write(rows, f"{self.root}/{staging}", self.description)
        found = [each.path for each in self.files.walk(staging)]
        return tuple(
            (f"{staging}/{path}", target)
            for path, target in zip(
                found,
                targets(found, self.journal.next_number, self.description.format),
                strict=True,
            )
        )

    def _compact(self, directory: str) -> None:
        """Makes large files of the small ones of one directory, in the order of offsets."""
        small, count = small_files(
            self.files.walk(directory), least=self.compact_files, limit_bytes=self.compact_bytes
        )
        if not small:
            return
        paths = [posixpath.join(directory, each.path) for each in small]
        rows = lake.read_files(self.spark, self.root, paths, self.description)
        order = ("topic", "partition", "offset")
        if count == 1:
            rows = rows.coalesce(1).sortWithinPartitions(*order)
        else:
            rows = rows.repartitionByRange(count, *order).sortWithinPartitions(*order)
        last = self.journal.last
        self.journal.commit(
            query=last.query, batch=last.batch, moves=self._stage(rows), removals=tuple(paths)
        )


def targets(staged: Iterable[str], step: int, suffix: str) -> list[str]:
    """Names in the lake for staged files: their directories, and what no other step has."""
    return [
        posixpath.join(posixpath.dirname(path), f"{step:010d}-{number:04d}.{suffix}")
        for number, path in enumerate(staged)
    ]


def small_files(
    found: Iterable[FileInfo], *, least: int, limit_bytes: int
) -> tuple[list[FileInfo], int]:
    """The files that are to become fewer, and how many; none if they are too few to bother.

    Files of the directory itself: what lies in directories below it is theirs.
    """
    few = limit_bytes // 2  # what is made of small files is about a limit's size, or little less
    small = [each for each in found if each.size_bytes < few and "/" not in each.path]
    if len(small) < least:
        return [], 0
    return small, max(1, math.ceil(sum(each.size_bytes for each in small) / limit_bytes))


def query_id(spark: SparkSession) -> str:
    """Of the streaming query on whose thread this is called; the same after every restart."""
    found = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    assert found, "only a streaming query writes batches"
    return found

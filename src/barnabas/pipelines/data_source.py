"""`format("barnabas")`: what Spark asks for, and who does it."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.options import includes_headers, sink_options, source_options
from barnabas.pipelines.sink import TopicStreamWriter, TopicWriter
from barnabas.pipelines.source import COLUMNS, HEADERS_COLUMN, TopicReader
from barnabas.pipelines.stream import TopicStreamReader


class BarnabasDataSource(DataSource):
    """Topics of a cluster as a table.  Options are checked when a plan is made, on the driver."""

    @classmethod
    def name(cls) -> str:
        return "barnabas"

    def schema(self) -> str:
        return COLUMNS + HEADERS_COLUMN * includes_headers(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        return TopicReader(source_options(self.options, is_stream=False))

    def streamReader(self, schema: StructType) -> TopicStreamReader:  # noqa: N802 (Spark's name)
        return TopicStreamReader(source_options(self.options, is_stream=True))

    def writer(self, schema: StructType, overwrite: bool) -> TopicWriter:
        if overwrite:
            raise PipelineError('a topic is not overwritten: use mode("append")')
        return TopicWriter(sink_options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> TopicStreamWriter:  # noqa: N802
        return TopicStreamWriter(sink_options(self.options), schema)

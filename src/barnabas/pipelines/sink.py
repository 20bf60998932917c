"""Tables into topics: `write` and `writeStream` with `format("barnabas")`.

Every task has a producer of its own.  A task that fails is done again by Spark, and so is a batch
of a stream after a restart: the plain sink then writes some records twice (at least once, like
Spark's own connector).  With `exactlyOnce=true` a task is one transaction, which the driver commits
when all tasks have succeeded: see `exactly_once.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from barnabas.client.connect import open_producer
from barnabas.client.errors import ClientError, NotReachableError
from barnabas.pipelines import exactly_once
from barnabas.pipelines.cluster import Pauses
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.exactly_once import Once, Prepared
from barnabas.pipelines.options import SinkOptions
from barnabas.pipelines.rows import check_columns, has_headers, messages_of, rows_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

LOG = logging.getLogger(__name__)

QUEUE_MESSAGES = 200_000
QUEUE_BYTES = 64 * 1024 * 1024
"""About as much is handed over to a producer and not written yet."""
TOGETHER_MAX = 10_000
PRODUCER = {
    "partitioner": "murmur2_random",  # Java's: keys land where other clients put them
    "enable.idempotence": True,
    "linger.ms": 20,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 2 * QUEUE_MESSAGES,
    "queue.buffering.max.kbytes": 2_097_151,  # the sender sees to it that it is less
    "message.timeout.ms": 120_000,
    "delivery.report.only.error": True,
}
TRANSACTION_TIMEOUT_MS = 900_000
"""A task may compute for long between two records; brokers allow no more unless they are told."""
CONNECT_S = 60.0
QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"

Messages: TypeAlias = list[WriterCommitMessage | None]
"""What the tasks of a batch say to the driver; None from one that failed."""


class Written(WriterCommitMessage):
    """What a task did."""

    def __init__(self, rows: int, prepared: Prepared | None = None) -> None:
        self.rows = rows
        self.prepared = prepared
        """What the driver has to commit."""


class Failures:
    """Records that were not delivered, as librdkafka tells of them."""

    def __init__(self) -> None:
        self.first: KafkaError | None = None

    def __call__(self, error: KafkaError | None, _: object) -> None:
        if error is not None and self.first is None:
            self.first = error

    def check(self) -> None:
        if self.first is not None:
            raise PipelineError(f"a record was not written: {self.first.str()}")


class Sender:
    """A producer, and all rows that go through it."""

    def __init__(self, options: SinkOptions, **more: Any) -> None:
        self._topic = options.topic
        self._failures = Failures()
        self.producer: Producer = self._open(options, {"on_delivery": self._failures, **more})

    def _open(self, options: SinkOptions, more: dict[str, Any]) -> Producer:
        pauses = Pauses(CONNECT_S)
        while True:
            try:
                return open_producer(options.properties, {**PRODUCER, **more}, LOG.warning)[0]
            except NotReachableError as error:
                if not pauses.take():
                    raise PipelineError(str(error)) from None
            except ClientError as error:
                raise PipelineError(str(error)) from None

    def send(self, batches: Iterator[pa.RecordBatch]) -> int:
        """How many rows were handed over, in their order; none of them is sure before `finish`."""
        count = 0
        for batch in batches:
            if has_headers(batch):
                self._send_one_by_one(batch)
            else:
                self._send_together(batch)
            count += batch.num_rows
        return count

    def _send_together(self, batch: pa.RecordBatch) -> None:
        """Half as dear as one by one.  There is room for all of them before they are handed over:
        one that was refused could be overtaken by the next.
        """
        most = max(1, min(TOGETHER_MAX, QUEUE_BYTES // 4 // _row_bytes(batch)))
        for topic, partition, messages in messages_of(batch, self._topic, most):
            self._await_room(len(messages), _row_bytes(batch))
            if self.producer.produce_batch(topic, messages, partition) < len(messages):
                error: Any = next(each["_error"] for each in messages if "_error" in each)
                raise PipelineError(f"a record was not written: {error.str()}")
        self.producer.poll(0)
        self._failures.check()

    def _send_one_by_one(self, batch: pa.RecordBatch) -> None:
        row_bytes = _row_bytes(batch)
        for topic, key, value, partition, headers in rows_of(batch, self._topic):
            self._await_room(1, row_bytes)
            self.producer.produce(topic, value, key, partition, headers=headers)
        self.producer.poll(0)
        self._failures.check()

    def _await_room(self, messages: int, row_bytes: int) -> None:
        """Until what is handed over and not written yet leaves room for so many more."""
        queue_max = min(QUEUE_MESSAGES, QUEUE_BYTES // row_bytes)
        while (waiting := len(self.producer)) and waiting + messages > queue_max:
            self.producer.poll(0.05)
            self._failures.check()

    def finish(self) -> None:
        """Returns when every record is written, or one has failed for good."""
        self.producer.flush()
        self._failures.check()


def _row_bytes(batch: pa.RecordBatch) -> int:
    size_bytes: int = batch.nbytes // max(1, batch.num_rows) + 1
    return size_bytes


def _columns(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


class TaskWriter:
    """What a task does with its rows, and the driver when all tasks are done.

    Made on the driver, where wrong columns are noticed.
    """

    def __init__(self, options: SinkOptions, schema: StructType, *, is_stream: bool) -> None:
        check_columns(_columns(schema), options.topic)
        self._options = options
        self._is_stream = is_stream
        self._job = options.exactly_once_id or uuid4().hex
        """The name of what is written, where no query gives it one."""

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        if self._options.exactly_once:
            return self._write_once(batches)
        sender = Sender(self._options)
        rows = sender.send(batches)
        sender.finish()
        return Written(rows)

    def _write_once(self, batches: Iterator[pa.RecordBatch]) -> Written:
        once = self._once()
        more = {
            "transactional.id": once.name,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
        }
        return Written(
            *exactly_once.prepare(
                once,
                lambda: Sender(self._options, **more),
                self._options.properties,
                batches,
                self._topic_of,
            )
        )

    def commit(self, messages: Messages) -> None:
        if prepared := _prepared(messages):
            exactly_once.commit(prepared, self._options.properties)

    def abort(self, messages: Messages) -> None:
        if prepared := _prepared(messages):
            exactly_once.abort(prepared, self._options.properties)

    def _once(self) -> Once:
        """A batch of a stream is known by its query and number, a job by its own name alone."""
        task = TaskContext.get()
        assert task is not None, "rows are written in tasks"
        named = self._options.exactly_once_id
        batch = task.getLocalProperty(BATCH_ID)
        query: str | None = named
        if batch is None:
            query = named or self._job
        elif self._is_stream:
            query = named or task.getLocalProperty(QUERY_ID)
        elif named is None:
            raise PipelineError(
                "exactlyOnce within foreachBatch needs exactlyOnceId, another one for every write"
            )
        return Once(name=f"barnabas-{query}-{task.partitionId()}", number=int(batch or 0))

    def _topic_of(self, batch: pa.RecordBatch) -> str:
        return self._options.topic or next(rows_of(batch, None)).topic


def _prepared(messages: Messages) -> list[Prepared]:
    written = [message for message in messages if isinstance(message, Written)]
    return [message.prepared for message in written if message.prepared is not None]


class TopicWriter(DataSourceArrowWriter):
    """A batch."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._task = TaskWriter(options, schema, is_stream=False)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.write(iterator)

    def commit(self, messages: Messages) -> None:
        self._task.commit(messages)

    def abort(self, messages: Messages) -> None:
        self._task.abort(messages)


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """The batches of a stream, likewise."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._task = TaskWriter(options, schema, is_stream=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._task.write(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 (Spark's name)
        self._task.commit(messages)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        self._task.abort(messages)

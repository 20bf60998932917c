"""A task's rows as one transaction that also says which batch it was: written once, never twice.

Whoever writes has a name, which is the transactional id and also a consumer group; it commits as
its "offset" the number of its last batch plus one, in the same transaction as the rows, with their
count beside it.  So:

- A task that dies leaves an open transaction, which its successor of the same name aborts; one that
  is only thought dead is fenced, and cannot commit any more.
- A task that is done again after it had committed (its batch was repeated after a restart) finds
  its batch recorded, and passes over its rows.

That rests on a repeated batch having the same tasks with the same rows, as Spark plans them from
the same offsets: do not change the number of partitions of a query that was killed.  A count that
differs is noticed, and stops the query.  Brokers forget the record after
`offsets.retention.minutes` (a week) without a batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from barnabas.client.connect import open_consumer
from barnabas.client.errors import ClientError
from barnabas.client.group_details import stable_offsets
from barnabas.pipelines.cluster import Cluster, Pauses
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from confluent_kafka import Producer

LOG = logging.getLogger(__name__)

PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """One task of one batch."""

    name: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The last batch that was written under a name."""

    number: int
    rows: int


class Sending(Protocol):
    """A producer with a transactional id, and what goes through it."""

    producer: Producer

    def send(self, batches: Iterator[pa.RecordBatch]) -> int: ...


def last_done(committed: Mapping[tuple[str, int], tuple[int, str]]) -> Done | None:
    """From what a group has committed, whatever the topic was.  Pure."""
    if not committed:
        return None
    offset, metadata = max(committed.values())
    return Done(number=offset - 1, rows=int(metadata) if metadata.isdecimal() else -1)


def is_repeated(once: Once, done: Done | None) -> bool:
    """Pure."""
    return done is not None and done.number >= once.number


def check_repetition(once: Once, done: Done, rows: int) -> None:
    """`PipelineError` if what was passed over is not what had been written.  Pure."""
    if done.number == once.number and done.rows not in (rows, -1):
        raise PipelineError(
            f"{once.name}: batch {once.number} was written with {done.rows} rows and now has "
            f"{rows}: was the number of partitions of the query changed?"
        )


def write_once(
    once: Once,
    open_sender: Callable[[], Sending],
    properties: Mapping[str, str],
    batches: Iterator[pa.RecordBatch],
    topic_of: Callable[[pa.RecordBatch], str],
) -> tuple[int, bool]:
    """How many rows there were, and whether they had been written before."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return 0, False
    rows = chain((first,), batches)
    sender = open_sender()
    _retried(sender.producer.init_transactions, once)
    done = _looked_up(once, properties)
    if done is not None and is_repeated(once, done):
        count = _count(rows)
        check_repetition(once, done, count)
        LOG.info("%s: batch %d was written before", once.name, once.number)
        return count, True
    sender.producer.begin_transaction()
    try:
        count = sender.send(rows)
        _record(once, sender.producer, properties, topic_of(first), count)
        _retried(sender.producer.commit_transaction, once)
    except BaseException:
        _abort(sender.producer, once)
        raise
    return count, False


def _looked_up(once: Once, properties: Mapping[str, str]) -> Done | None:
    cluster = Cluster(properties, timeout_s=PATIENCE_S, is_patient=True)
    try:
        return last_done(cluster.ask(lambda brokers: stable_offsets(brokers, once.name)))
    except ClientError as error:
        raise PipelineError(f"{once.name}: {error}") from None
    finally:
        cluster.close()


def _count(batches: Iterable[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)


def _record(
    once: Once, producer: Producer, properties: Mapping[str, str], topic: str, rows: int
) -> None:
    """Partition 0 of a topic that is written to: brokers take offsets of existing ones only."""
    from confluent_kafka import TopicPartition

    consumer, _ = open_consumer(properties, {"group.id": once.name}, LOG.warning)
    try:
        position = TopicPartition(topic, 0, once.number + 1, str(rows))
        group = consumer.consumer_group_metadata()
        _retried(lambda: producer.send_offsets_to_transaction([position], group), once)
    finally:
        consumer.close()


def _retried(step: Callable[[], object], once: Once) -> None:
    """A step of a transaction, again while librdkafka says that this can help."""
    from confluent_kafka import KafkaException

    pauses = Pauses(PATIENCE_S)
    while True:
        try:
            step()
        except KafkaException as error:
            fault = error.args[0]
            if not fault.retriable() or not pauses.take():
                raise PipelineError(f"{once.name}: {fault.str()}") from None
        else:
            return


def _abort(producer: Producer, once: Once) -> None:
    """As well as it goes: what is left open is aborted by the successor, or by time."""
    from confluent_kafka import KafkaException

    try:
        producer.abort_transaction()
    except KafkaException as error:
        LOG.warning("%s: not aborted: %s", once.name, error.args[0].str())

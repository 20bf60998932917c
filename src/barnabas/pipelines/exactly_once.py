"""A task's rows as one transaction that also says which batch it was: written once, never twice.

A task only prepares its transaction: all rows are in it, and it is open.  The driver commits it
when Spark says that every task of the batch has succeeded, for a task cannot know that its rows
were all: when Spark fails a task, what writes its rows sees no error but an early end.

Whoever writes has a name, which is the transactional id and also a consumer group; it commits as
its "offset" the number of its last batch plus one, in the same transaction as the rows, with their
count beside it.  So:

- A task that dies, or fails, leaves an open transaction, which its successor of the same name
  aborts.  The driver commits under the epoch of the task that told it, and no other.
- A task that is done again after it was committed (the driver died before Spark had noted the
  batch) finds its batch recorded, and passes over its rows.

That rests on a repeated batch having the same tasks with the same rows, as Spark plans them from
the same offsets: do not change the number of partitions of a query that was killed.  A count that
differs is noticed, and stops the query.  Brokers forget the record after
`offsets.retention.minutes` (a week) without a batch, and abort what is open for longer than the
transaction's timeout.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from barnabas.client.connect import open_consumer
from barnabas.client.errors import ClientError
from barnabas.client.group_details import stable_offsets
from barnabas.client.transaction_admin import TransactionAdmin
from barnabas.pipelines.cluster import Cluster, Pauses
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from barnabas.client.brokers import Brokers

LOG = logging.getLogger(__name__)

PATIENCE_S = 120.0
OF_A_GROUP = frozenset({"group.id", "group.instance.id", "group.protocol"})
"""Properties of the user's own consumers, which a file of properties may have."""

Result = TypeVar("Result")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An open transaction that has all rows which a task was given."""

    name: str
    producer_id: int
    producer_epoch: int


class Sending(Protocol):
    """A producer with a transactional id, and what goes through it."""

    producer: Producer

    def send(self, batches: Iterator[pa.RecordBatch]) -> int: ...

    def finish(self) -> None: ...


def last_done(committed: Mapping[tuple[str, int], tuple[int, str]]) -> Done | None:
    """From what a group has committed, whatever the topic was.  Pure."""
    if not committed:
        return None
    offset, metadata = max(committed.values())
    return Done(number=offset - 1, rows=int(metadata) if metadata.isdecimal() else -1)


def is_repeated(once: Once, done: Done) -> bool:
    """`PipelineError` if a later batch was written: Spark repeats none but the last.  Pure."""
    if done.number > once.number:
        raise PipelineError(
            f"{once.name}: batch {done.number} was written, and this is batch {once.number}: is "
            "the checkpoint an old copy, or does another query write under the same exactlyOnceId?"
        )
    return done.number == once.number


def check_repetition(once: Once, done: Done, rows: int) -> None:
    """`PipelineError` if what was passed over is not what had been written.  Pure."""
    if done.rows not in (rows, -1):
        raise PipelineError(
            f"{once.name}: batch {once.number} was written with {done.rows} rows and now has "
            f"{rows}: was the number of partitions of the query changed?"
        )


def prepare(
    once: Once,
    open_sender: Callable[[], Sending],
    properties: Mapping[str, str],
    batches: Iterator[pa.RecordBatch],
    topic_of: Callable[[pa.RecordBatch], str],
) -> tuple[int, Prepared | None]:
    """How many rows there were, and what is to be committed: nothing, if they had been before."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return 0, None
    rows = chain((first,), batches)
    sender = open_sender()
    _retried(sender.producer.init_transactions, once.name)
    prepared, done = _looked_up(once, properties)
    if done is not None and is_repeated(once, done):
        count = _count(rows)
        check_repetition(once, done, count)
        LOG.info("%s: batch %d was written before", once.name, once.number)
        return count, None
    sender.producer.begin_transaction()
    try:
        count = sender.send(rows)
        sender.finish()
        # Last: if the epoch that was looked up is a later attempt's, this one is fenced here.
        _record(once, sender.producer, properties, topic_of(first), count)
    except BaseException as error:
        _abort(sender.producer, once, error)
        raise
    return count, prepared


def commit(prepared: Iterable[Prepared], properties: Mapping[str, str]) -> None:
    """By the driver, when all tasks have succeeded.  May be done again."""
    with closing(_cluster(properties)) as cluster:
        for each in prepared:
            _asked(cluster, each.name, partial(_end, prepared=each, is_commit=True))


def abort(prepared: Iterable[Prepared], properties: Mapping[str, str]) -> None:
    """By the driver, when another task has failed, so that nobody waits for the end of these."""
    with closing(_cluster(properties)) as cluster:
        for each in prepared:
            try:
                _asked(cluster, each.name, partial(_end, prepared=each, is_commit=False))
            except PipelineError as error:
                LOG.warning("not aborted: %s", error)


def _end(brokers: Brokers, *, prepared: Prepared, is_commit: bool) -> None:
    TransactionAdmin(brokers).end(
        prepared.name,
        producer_id=prepared.producer_id,
        producer_epoch=prepared.producer_epoch,
        is_commit=is_commit,
    )


def _looked_up(once: Once, properties: Mapping[str, str]) -> tuple[Prepared, Done | None]:
    """The producer under that name, and what was committed under it."""
    with closing(_cluster(properties)) as cluster:
        found = _asked(
            cluster, once.name, lambda brokers: TransactionAdmin(brokers).describe(once.name)
        )
        offsets = _asked(cluster, once.name, lambda brokers: stable_offsets(brokers, once.name))
    prepared = Prepared(
        name=once.name, producer_id=found.producer_id, producer_epoch=found.producer_epoch
    )
    return prepared, last_done(offsets)


def _cluster(properties: Mapping[str, str]) -> Cluster:
    return Cluster(properties, timeout_s=PATIENCE_S, is_patient=True)


def _asked(cluster: Cluster, name: str, question: Callable[[Brokers], Result]) -> Result:
    try:
        return cluster.ask(question)
    except ClientError as error:
        raise PipelineError(f"{name}: {error}") from None


def _count(batches: Iterable[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)


def _record(
    once: Once, producer: Producer, properties: Mapping[str, str], topic: str, rows: int
) -> None:
    """Partition 0 of a topic that is written to: brokers take offsets of existing ones only."""
    from confluent_kafka import TopicPartition

    others = {name: value for name, value in properties.items() if name not in OF_A_GROUP}
    consumer, _ = open_consumer(others, {"group.id": once.name}, LOG.warning)
    try:
        position = TopicPartition(topic, 0, once.number + 1, str(rows))
        group = consumer.consumer_group_metadata()
        _retried(lambda: producer.send_offsets_to_transaction([position], group), once.name)
    finally:
        consumer.close()


def _retried(step: Callable[[], object], name: str) -> None:
    """A step of a transaction, again while librdkafka says that this can help."""
    from confluent_kafka import KafkaException

    pauses = Pauses(PATIENCE_S)
    while True:
        try:
            step()
        except KafkaException as error:
            fault = error.args[0]
            if not fault.retriable() or not pauses.take():
                raise PipelineError(f"{name}: {fault.str()}") from None
        else:
            return


def _abort(producer: Producer, once: Once, reason: BaseException) -> None:
    """As well as it goes: what is left open is aborted by the successor, or by time.

    `PipelineError` if the reason for it all was that there is a successor already.
    """
    from confluent_kafka import KafkaError, KafkaException

    try:
        producer.abort_transaction()
    except KafkaException as error:
        fault = error.args[0]
        if fault.code() == KafkaError._FENCED:  # noqa: SLF001 (its public name)
            raise PipelineError(
                f"{once.name}: a later attempt of this task, or another query with the same "
                "checkpoint, writes under this name"
            ) from reason
        LOG.warning("%s: not aborted: %s", once.name, fault.str())

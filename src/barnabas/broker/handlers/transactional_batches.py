"""The transactional batches of one Produce: asked about before they are appended (KIP-890)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import ApiError, ErrorCode, error_for
from barnabas.broker.dispatch import Later
from barnabas.broker.handlers.shared import INTERNAL_TOPICS
from barnabas.coordinator.runtime_types import Producer
from barnabas.coordinator.txn.machine import TopicPartition
from barnabas.coordinator.txn.verification import (
    UNGUARDED,
    Guard,
    Operation,
    operation_of_produce,
    told_to_producer,
)
from barnabas.records.header import HEADER_SIZE, read_header

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.coordinator.txn.events import PartitionErrors
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.produce import ProduceRequest
    from barnabas.replication.partition import Partition


class _Batch(NamedTuple):
    producer: Producer
    sequence: int
    guard: Guard


class TransactionalBatches:
    """What is known of the batches of a request with a transactional id."""

    def __init__(self, broker: Broker, request: ProduceRequest, version: int) -> None:
        self._broker = broker
        self._request = request
        self._operation = operation_of_produce(version)
        self._batches: dict[TopicPartition, _Batch] = {}
        self._refused: dict[TopicPartition, ErrorCode] = {}
        self._awaited = 0
        for topic in request.topic_data:
            for data in topic.partition_data:
                self._begin(TopicPartition(topic.name, data.index), data.records)

    @property
    def zero_start(self) -> bool:
        """Whether the producer's first batch must have sequence number 0."""
        return self._operation is Operation.ADD

    def _begin(self, where: TopicPartition, records: memoryview | bytes | None) -> None:
        """What cannot be appended anyway is left alone: the append says why."""
        if not records or len(records) < HEADER_SIZE or where.topic in INTERNAL_TOPICS:
            return
        header = read_header(records)
        if not header.is_transactional:
            return
        try:
            log = self._broker.replicas.get(*where).leader_log()
        except ApiError:
            return
        producer = Producer(header.producer_id, header.producer_epoch)
        guard = self._broker.transactions.verifying.begin(
            where, log, producer, header.base_sequence, self._operation
        )
        self._batches[where] = _Batch(producer, header.base_sequence, guard)

    def ask(self, done: Callable[[], None]) -> None:
        """Have the coordinator agree; `done` is called when it has answered, maybe at once."""
        questions: dict[Producer, set[TopicPartition]] = {}
        for where, batch in self._batches.items():
            if batch.guard != UNGUARDED:
                questions.setdefault(batch.producer, set()).add(where)
        self._awaited = 1 + len(questions)

        def answered(errors: PartitionErrors) -> None:
            self._refused.update((where, code) for where, code in errors.items() if code)
            one_less()

        def one_less() -> None:
            self._awaited -= 1
            if not self._awaited:
                done()

        for producer, partitions in questions.items():
            self._broker.transactions.verifying.ask(
                self._request.transactional_id or "",
                producer,
                frozenset(partitions),
                self._operation,
                answered,
            )
        one_less()

    def check(self, partition: Partition) -> None:
        """Raise unless the batch for `partition` may be appended now."""
        where = TopicPartition(partition.topic, partition.index)
        batch = self._batches.get(where)
        if batch is None:
            return
        code = self._refused.get(where) or self._broker.transactions.verifying.may_append(
            where, partition.leader_log(), batch.producer, batch.sequence, batch.guard
        )
        if code:
            raise error_for(told_to_producer(code, self._operation))

    def appended(self, partition: Partition) -> None:
        where = TopicPartition(partition.topic, partition.index)
        batch = self._batches.get(where)
        if batch is not None:
            self._broker.transactions.verifying.settled(where, batch.producer.producer_id)


def verified_first(
    broker: Broker,
    request: ProduceRequest,
    version: int,
    produce: Callable[[TransactionalBatches], Message | Later | None],
) -> Message | Later | None:
    """`produce`, once the coordinator was asked.

    If it has to be waited for, the records are copied: what was received into is used again.
    """
    batches = TransactionalBatches(broker, request, version)
    later = Later(holds=True)
    is_waiting = is_answered = False

    def answered() -> None:
        nonlocal is_answered
        is_answered = True
        if is_waiting:
            _pass_on(produce(batches), later)

    batches.ask(answered)
    if is_answered:
        return produce(batches)
    for topic in request.topic_data:
        for data in topic.partition_data:
            if data.records:
                data.records = memoryview(bytearray(data.records))
    is_waiting = True
    return later


def _pass_on(answer: Message | Later | None, later: Later) -> None:
    assert answer is not None, "a transactional producer wants to know"
    if isinstance(answer, Later):
        later.on_abandon = answer.abandon
        answer.when_done(later.resolve)
    else:
        later.resolve(answer)

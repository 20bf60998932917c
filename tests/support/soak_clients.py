"""Clients of a soak: they send and read without pause and note what they were told.

Every value is a number that nobody else sends.  What a client is told goes into a history that
`barnabas.lab.sim.checker` judges, the same that judges simulated runs.
"""

from __future__ import annotations

import random
import subprocess
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from barnabas.lab.sim.history import Ended, History, Outcome, Polled, Sent

PATIENCE_S = 120
QUIET = {"log_level": 0}


class Notes:
    """What all clients of a run noted; `troubles` should not have happened at all."""

    def __init__(self) -> None:
        self.history = History()
        self.troubles: list[str] = []
        self.counts: Counter[str] = Counter()

    def sent(self, note: Sent) -> None:
        self.history.sent.append(note)
        self.counts[f"{note.producer} {note.outcome.value}"] += 1


class Client(ABC):
    """Works on a thread of its own until it is told to stop."""

    def __init__(self, name: str, bootstrap: str, topic: str, notes: Notes) -> None:
        self.name = name
        self.bootstrap = bootstrap
        self.topic = topic
        self.notes = notes
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self.work()
        except Exception as error:  # a verdict, not a lost thread
            self.notes.troubles.append(f"{self.name} gave up: {error!r}")

    @abstractmethod
    def work(self) -> None:
        """Until `stopping` is set."""


class Numbered(Client):
    """A producer that sends numbers to all partitions in turn."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        topic: str,
        notes: Notes,
        *,
        first: int,
        partitions: int,
        per_s: int,
    ) -> None:
        super().__init__(name, bootstrap, topic, notes)
        self.first = first
        self.partitions = partitions
        self.pause_s = 1 / per_s
        self.count = 0
        self.open: dict[int, tuple[int, int]] = {}
        """What was sent and not answered: partition and number, by value."""

    def next(self) -> tuple[int, int]:
        """The next value, and the partition it goes to."""
        partition, number = self.count % self.partitions, self.count // self.partitions
        value = self.first + self.count
        self.count += 1
        self.open[value] = partition, number
        return value, partition

    def told(self, value: int, outcome: Outcome, offset: int = -1) -> None:
        partition, number = self.open.pop(value)
        self.notes.sent(
            Sent(
                producer=self.name,
                number=number,
                partition=(self.topic, partition),
                values=(value,),
                outcome=outcome,
                offset=offset,
            )
        )

    def give_up(self) -> None:
        """Nobody will tell any more."""
        for value in list(self.open):
            self.told(value, Outcome.UNKNOWN)


class ConfluentLoad(Numbered):
    """librdkafka, idempotent."""

    def work(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": PATIENCE_S * 1000,
                **QUIET,
            }
        )
        while not self.stopping.is_set():
            value, partition = self.next()
            producer.produce(
                self.topic,
                b"%d" % value,
                partition=partition,
                on_delivery=partial(self._delivered, value),
            )
            producer.poll(self.pause_s)
        producer.flush(PATIENCE_S)
        self.give_up()

    def _delivered(self, value: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.told(value, Outcome.ACKNOWLEDGED, message.offset() or 0)
            return
        if error.fatal():
            self.notes.troubles.append(f"{self.name}: {error}")
        self.told(value, Outcome.UNKNOWN)


class ProcessLoad(Numbered):
    """A producer in another process, until its input ends.

    It prints a line for each answer: value, partition, offset; -1 where none was told.
    """

    def __init__(self, *args: Any, command: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        arguments = [self.bootstrap, self.topic, self.first, self.partitions, self.pause_s]
        self._process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def work(self) -> None:
        process = self._process
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                value, partition, offset = map(int, line.split())
                self.open[value] = partition, (value - self.first) // self.partitions
                outcome = Outcome.ACKNOWLEDGED if offset >= 0 else Outcome.UNKNOWN
                self.told(value, outcome, offset)
        if process.wait() != 0:
            self.notes.troubles.append(f"{self.name} ended with {process.returncode}")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # it finishes what it has sent, and ends
        super().stop()


class TransactionLoad(Client):
    """librdkafka: transactions over all partitions, committed or aborted by chance."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        topic: str,
        notes: Notes,
        *,
        first: int,
        partitions: int,
        seed: int,
    ) -> None:
        super().__init__(name, bootstrap, topic, notes)
        self._value = first
        self._partitions = partitions
        self._random = random.Random(seed)
        self._numbers = Counter[int]()
        self._transaction = 0

    def work(self) -> None:
        producer: Producer | None = None
        while not self.stopping.is_set():
            try:
                if producer is None:
                    producer = self._new_producer()
                self._one(producer)
            except KafkaException:
                producer = None  # the next one fences it, and ends what it left open

    def _new_producer(self) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": self.name,
                "transaction.timeout.ms": 30_000,
                "linger.ms": 5,
                **QUIET,
            }
        )
        producer.init_transactions(PATIENCE_S)
        return producer

    def _one(self, producer: Producer) -> None:
        self._transaction += 1
        name = f"{self.name}-{self._transaction}"
        told: dict[int, int] = {}
        sent: list[tuple[int, int, int]] = []
        committed: bool | None = None
        try:
            producer.begin_transaction()
            for _ in range(self._random.randint(1, 40)):
                partition = self._random.randrange(self._partitions)
                self._value += 1
                self._numbers[partition] += 1
                sent.append((self._value, partition, self._numbers[partition]))
                producer.produce(
                    self.topic,
                    b"%d" % self._value,
                    partition=partition,
                    on_delivery=partial(_keep_offset, told, self._value),
                )
            producer.flush(PATIENCE_S)
            committed = self._end(producer)
        finally:
            for value, partition, number in sent:
                self._note(name, value, partition, number, told.get(value))
            self.notes.history.ended.append(Ended(transaction=name, committed=committed))
            self.notes.counts[f"{self.name} committed={committed}"] += 1

    def _end(self, producer: Producer) -> bool:
        """Whether it was committed.  Raises if nobody knows."""
        if self._random.random() < 0.3:
            self._retry(partial(producer.abort_transaction, PATIENCE_S))
            return False
        try:
            self._retry(partial(producer.commit_transaction, PATIENCE_S))
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
            self._retry(partial(producer.abort_transaction, PATIENCE_S))
            return False
        return True

    def _retry(self, act: Callable[[], None]) -> None:
        for _ in range(20):
            try:
                return act()
            except KafkaException as failure:
                if not failure.args[0].retriable():
                    raise
        return act()

    def _note(
        self, transaction: str, value: int, partition: int, number: int, offset: int | None
    ) -> None:
        self.notes.sent(
            Sent(
                producer=self.name,
                number=number,
                partition=(self.topic, partition),
                values=(value,),
                outcome=Outcome.UNKNOWN if offset is None else Outcome.ACKNOWLEDGED,
                offset=-1 if offset is None else offset,
                transaction=transaction,
            )
        )


def _keep_offset(
    told: dict[int, int], value: int, error: KafkaError | None, message: Message
) -> None:
    if error is None:
        told[value] = message.offset() or 0


class Reader(Client):
    """Reads all partitions from their beginning, as they grow."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        topic: str,
        notes: Notes,
        *,
        partitions: int,
        committed_only: bool,
    ) -> None:
        super().__init__(name, bootstrap, topic, notes)
        self._partitions = partitions
        self._committed_only = committed_only

    def work(self) -> None:
        consumer = new_reader(self.bootstrap, committed_only=self._committed_only)
        consumer.assign(
            [
                TopicPartition(self.topic, index, OFFSET_BEGINNING)
                for index in range(self._partitions)
            ]
        )
        try:
            while not self.stopping.is_set():
                message = consumer.poll(0.2)
                if message is None:
                    continue
                error = message.error()
                if error is not None:
                    if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
                        self.notes.troubles.append(f"{self.name}: {error}")
                    continue
                offset = message.offset()
                assert offset is not None
                self.notes.history.polled.append(
                    Polled(
                        consumer=self.name,
                        partition=(self.topic, message.partition() or 0),
                        position=0,
                        records=((offset, int(message.value() or b"0")),),
                        committed_only=self._committed_only,
                    )
                )
        finally:
            consumer.close()


def new_reader(bootstrap: str, *, committed_only: bool, **config: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed_only else "read_uncommitted",
            "fetch.wait.max.ms": 100,
            **QUIET,
            **config,
        }
    )


def read_all(
    bootstrap: str, topic: str, partitions: int, *, committed_only: bool
) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Every partition from its start to its end: offsets and values."""
    consumer = new_reader(
        bootstrap, committed_only=committed_only, **{"enable.partition.eof": True}
    )
    found: dict[tuple[str, int], list[tuple[int, int]]] = {
        (topic, index): [] for index in range(partitions)
    }
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
    left = set(range(partitions))
    try:
        while left:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"partitions {left} cannot be read to their end"
            index = message.partition()
            assert index is not None
            error = message.error()
            if error is None:
                offset = message.offset()
                assert offset is not None
                found[topic, index].append((offset, int(message.value() or b"0")))
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(index)
            elif error.fatal():
                raise KafkaException(error)
    finally:
        consumer.close()
    return found

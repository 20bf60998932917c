"""Clients within the run's own process, for what the two programs do not do: transactions, chosen
keys and values, a dead-letter topic.

They journal as the programs do, for the timeline, and say to the verdict what they did record by
record.  confluent-kafka, as everywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from barnabas.lab.programs.journaling import Journal
from barnabas.lab.programs.payload_log import key_text, value_text
from barnabas.lab.scenarios.stage import StageError
from barnabas.lab.verdict.journal import What
from barnabas.lab.verdict.records import Outcome, ReceivedRecord, SentRecord

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

    from barnabas.lab.scenarios.stage import Stage

SILENT = logging.getLogger("barnabas.lab.clients")
"""Where the library's lines go, and no further: errors that matter come as exceptions."""
SILENT.setLevel(logging.CRITICAL + 1)
ANSWER_S = 60.0
POLL_S = 0.2


class Sender:
    """A producer.  `flush` before what it sent is looked for."""

    def __init__(self, stage: Stage, name: str, **config: str) -> None:
        from confluent_kafka import Producer

        self.name = name
        self._stage = stage
        path = stage.folder / f"{name}.jsonl"
        self._journal = Journal(path, name)
        stage.ledger.open(path, is_judged=False)
        self._producer = Producer(
            {
                "bootstrap.servers": stage.cluster.bootstrap,
                "client.id": name,
                "logger": SILENT,
                **{key.replace("_", "."): value for key, value in config.items()},
            }
        )
        self._transaction: str | None = None
        self._delivered: list[Message] = []
        self._failed: list[KafkaError] = []

    def send(
        self, key: str, value: str, *, topic: str | None = None, is_judged: bool = True
    ) -> None:
        """To partition 0.  What steers a consumer is not judged: nobody waits for it."""

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failed.append(error)
            elif is_judged:
                self._delivered.append(message)

        name = topic or self._stage.topic
        self._producer.produce(
            name, value.encode(), key.encode(), partition=0, on_delivery=delivered
        )
        if is_judged:
            self._journal.note(What.SENT, name, keys=[key])

    def flush(self) -> None:
        """Until all of it is acknowledged; the first error otherwise."""
        self._producer.flush(ANSWER_S)
        for message in self._delivered:
            key = key_text(message.key())
            topic, partition, offset = _place(message)
            self._stage.own.sent.append(
                SentRecord(
                    topic=topic,
                    partition=partition,
                    key=key,
                    value=value_text(message.value()),
                    offset=offset,
                    outcome=Outcome.ACKNOWLEDGED,
                    producer=self.name,
                    transaction=self._transaction,
                )
            )
            self._journal.note(What.ACKED, topic, partition, offsets=[offset], keys=[key])
        self._delivered.clear()
        if self._failed:
            raise StageError(f"{self.name}: {self._failed[0].str()}")

    # Transactions

    def join(self) -> None:
        """Be the one producer of this transactional id; whoever was it before is fenced."""
        self._producer.init_transactions(ANSWER_S)

    def begin(self, transaction: str) -> None:
        self._producer.begin_transaction()
        self._transaction = transaction
        self._stage.own.ended[transaction] = None

    def end(self, *, commit: bool) -> None:
        """Commits or aborts; raises what the library does if it may not."""
        assert self._transaction is not None
        self.flush()
        if commit:
            self._producer.commit_transaction(ANSWER_S)
        else:
            self._producer.abort_transaction(ANSWER_S)
        self._stage.own.ended[self._transaction] = commit
        self._transaction = None

    def close(self) -> None:
        """Nothing more is noted; the library's threads end with the object."""
        self._journal.__exit__(None, None, None)


class Reader:
    """A consumer of the scenario's group.  A context manager: leaves the group at the end."""

    def __init__(
        self, stage: Stage, name: str, *, relies_on_commits: bool = False, **config: str
    ) -> None:
        """`relies_on_commits`: the application takes what it is given for committed, whatever it
        has asked for.
        """
        from confluent_kafka import Consumer

        self.name = name
        self._stage = stage
        self._relies = relies_on_commits
        path = stage.folder / f"{name}.jsonl"
        self._journal = Journal(path, name)
        stage.ledger.open(path, is_judged=False)
        options: dict[str, Any] = {
            "bootstrap.servers": stage.cluster.bootstrap,
            "group.id": stage.group,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": "true",
            "logger": SILENT,
        }
        self._consumer = Consumer(
            {**options, **{key.replace("_", "."): value for key, value in config.items()}}
        )
        self._consumer.subscribe([stage.topic])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()
        self._journal.__exit__(None, None, None)

    def read(self, end: int, process: Callable[[Message], bool] = lambda message: True) -> None:
        """Partition 0 up to the offset `end`.  `process` says whether a record is done with."""

        def is_through() -> bool:
            is_at_end = False
            for message in self._consumer.consume(1000, POLL_S):
                error = message.error()
                if error is None:
                    if process(message):
                        self._processed(message)
                elif error.name() == "_PARTITION_EOF":
                    is_at_end = _place(message)[2] >= end
            return is_at_end

        self._stage.cluster.wait(is_through, ANSWER_S * 2, f"{self.name} to reach offset {end}")

    def _processed(self, message: Message) -> None:
        key = key_text(message.key())
        topic, partition, offset = _place(message)
        self._journal.note(What.PROCESSED, topic, partition, offsets=[offset], keys=[key])
        self._stage.own.received.append(
            ReceivedRecord(
                topic,
                partition,
                key,
                value_text(message.value()),
                offset,
                self.name,
                self._relies,
            )
        )


def _place(message: Message) -> tuple[str, int, int]:
    """Topic, partition, offset; the library knows them of every message that it hands out."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return topic, partition, offset

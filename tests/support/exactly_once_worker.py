"""Consume, transform, produce, by transactions: a worker for `exactly_once.py`, to be killed.

Run with one argument, a JSON object (see `exactly_once.Job`).  After each step it prints a line, so
that whoever kills it can choose between which steps.  It goes on after what the library calls
abortable, and ends on everything else: the next one takes over.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PATIENCE_S = 60
IDLE_S = 0.3


class Worker:
    """One consumer and one transactional producer."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.consumer = Consumer(job["consumer"])
        # librdkafka 2.16.0 may wait for ever in send_offsets_to_transaction if it has thrown away
        # all brokers that it knew (its issues 5456 and 5511), so it must not do that.
        recovery = {"metadata.recovery.strategy": "none"}
        self.producer = Producer({**job["producer"], **recovery})

    def run(self) -> None:
        self.producer.init_transactions(PATIENCE_S)
        # With callbacks a rebalance happens inside of `consume` only, never while a batch is worked
        # on: the generation of the group is that of the batch.
        self.consumer.subscribe([self.job["input"]], on_assign=_nothing, on_revoke=_nothing)
        say("ready")
        transactions = 0
        while True:
            messages = self._take()
            if not messages:
                say("idle", self._committed())
                continue
            transactions += 1
            self._transaction(messages, commit=transactions % self.job["abort_every"] != 1)

    def _take(self) -> list[Message]:
        taken: list[Message] = []
        for message in self.consumer.consume(self.job["batch"], timeout=IDLE_S):
            error = message.error()
            if error is None:
                taken.append(message)
            elif error.fatal() or error.code() == KafkaError._MAX_POLL_EXCEEDED:
                raise KafkaException(error)
        return taken

    def _transaction(self, messages: list[Message], *, commit: bool) -> None:
        offsets = {m.partition(): m.offset() + 1 for m in messages}
        positions = [TopicPartition(self.job["input"], p, at) for p, at in offsets.items()]
        group = self.consumer.consumer_group_metadata()
        self.producer.begin_transaction()
        say("began")
        try:
            for message in messages:
                self._send(message)
            if not commit:
                self.producer.flush(PATIENCE_S)  # an abort would drop what has not been sent
            say("sent")
            self.producer.send_offsets_to_transaction(positions, group, PATIENCE_S)
            say("offered")
            if commit:
                self.producer.commit_transaction(PATIENCE_S)
                say("committed", offsets)
                return
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            print(f"to be aborted: {error}", file=sys.stderr, flush=True)
        self.producer.abort_transaction(PATIENCE_S)
        say("aborted")
        self._rewind()

    def _send(self, message: Message) -> None:
        key = message.key()
        while True:
            try:
                self.producer.produce(
                    self.job["output"],
                    message.value().upper(),
                    key,
                    partition=int(key) // 7 % self.job["partitions"],
                )
            except BufferError:
                self.producer.poll(1)
            else:
                return

    def _rewind(self) -> None:
        """Back to the committed positions, of what is still assigned."""
        for where in self.consumer.committed(self.consumer.assignment(), PATIENCE_S):
            self.consumer.seek(TopicPartition(where.topic, where.partition, max(where.offset, 0)))

    def _committed(self) -> dict[int, int]:
        found = self.consumer.committed(self.consumer.assignment(), PATIENCE_S)
        return {where.partition: max(where.offset, 0) for where in found}


def _nothing(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """librdkafka assigns and unassigns by itself, once this has been called."""


def say(step: str, positions: dict[int, int] | None = None) -> None:
    print(step, json.dumps(positions or {}), flush=True)


if __name__ == "__main__":
    Worker(json.loads(sys.argv[1])).run()

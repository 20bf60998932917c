"""Clients of the library that only pretend, for the lab's programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError


@dataclass(slots=True)
class FakeMessage:
    key_: bytes | None
    value_: bytes | None
    offset_: int = 0
    partition_: int = 0
    topic_: str = "t"
    error_: KafkaError | None = None

    def topic(self) -> str:
        return self.topic_

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def error(self) -> KafkaError | None:
        return self.error_


@dataclass(slots=True)
class FakeProducer:
    """Reports what was produced when it is polled; `errors` by key.  `room` bounds its queue."""

    report: Callable[[KafkaError | None, Any], None] = lambda error, message: None
    errors: dict[bytes, KafkaError] = field(default_factory=dict)
    room: int = 1_000_000
    silent: bool = False
    """Nothing is ever delivered, until it is purged."""
    queue: list[FakeMessage] = field(default_factory=list)
    produced: list[tuple[bytes, bytes]] = field(default_factory=list)
    offset: int = 0

    def produce(self, topic: str, value: bytes, key: bytes) -> None:
        if len(self.queue) >= self.room:
            raise BufferError
        self.produced.append((key, value))
        self.queue.append(FakeMessage(key, value, topic_=topic))

    def poll(self, timeout: float) -> int:
        return 0 if self.silent else self._report(None)

    def purge(self) -> None:
        self.silent = False
        self._report(KafkaError(KafkaError._PURGE_QUEUE))

    def _report(self, error: KafkaError | None) -> int:
        messages, self.queue = self.queue, []
        for message in messages:
            message.offset_, self.offset = self.offset, self.offset + 1
            self.report(error or self.errors.get(message.key_ or b""), message)
        return len(messages)

    def __len__(self) -> int:
        return len(self.queue)


@dataclass(slots=True)
class FakeConsumer:
    """Gives one batch a poll, and keeps what is done to it."""

    batches: list[list[FakeMessage]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    rest: list[FakeMessage] = field(default_factory=list)
    refusal: Exception | None = None

    def subscribe(self, topics: Sequence[str], **callbacks: Any) -> None:
        self.calls.append(f"subscribe {','.join(topics)}")
        callbacks["on_assign"](self, [])

    def poll(self, timeout: float) -> FakeMessage | None:
        if not self.batches:
            return None
        first, *self.rest = self.batches.pop(0)
        return first

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        found, self.rest = self.rest[:count], self.rest[count:]
        if self.rest:
            self.batches.insert(0, self.rest)
        return found

    def store_offsets(self, offsets: Sequence[Any]) -> None:
        self.calls += [f"store {each.partition}@{each.offset}" for each in offsets]

    def commit(self, offsets: Sequence[Any], asynchronous: bool) -> Sequence[Any]:
        assert not asynchronous
        if self.refusal is not None:
            raise self.refusal
        self.calls += [f"commit {each.partition}@{each.offset}" for each in offsets]
        return offsets

    def close(self) -> None:
        self.calls.append("close")

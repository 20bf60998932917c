"""Records from a consumer to standard output: the loop of `kafka-console-consumer`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Protocol

from barnabas.cli.assigning import Assignment
from barnabas.cli.command import CommandError
from barnabas.cli.deserializers import DeserializeError
from barnabas.cli.formatters import Formatter
from barnabas.client.connect import Troubles, fetch_metadata
from barnabas.client.errors import SilentBrokerError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

WAIT_S = 0.1
"""The longest that Ctrl-C has to wait."""
BATCH = 10_000
LOOK_S = 5.0
"""How often to look for new topics and partitions ..."""
LOOK_WHILE_MISSING_S = 0.5
"""... and how often while what was asked for does not exist."""

PASSING = frozenset(
    {
        "UNKNOWN_TOPIC_OR_PART",
        "UNKNOWN_TOPIC_ID",
        "_UNKNOWN_TOPIC",
        "_UNKNOWN_PARTITION",
        "LEADER_NOT_AVAILABLE",
        "_TRANSPORT",
        "_ALL_BROKERS_DOWN",
        "_RESOLVE",
        "_TIMED_OUT",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "_WAIT_COORD",
    }
)
"""Errors that may go away: told once, and waited out."""


class Source(Protocol):
    """Where partitions come from: by a group's coordinator, or all of them by ourselves."""

    def start(self) -> None:
        """`ClientError` if no broker answers."""

    def look(self, now: float) -> None:
        """Called every so often; looks whether there is anything new once it is time."""

    def close(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class AllPartitions:
    """Takes every partition that exists, without a group."""

    consumer: Consumer
    troubles: Troubles
    wanted: Assignment
    warn: Callable[[str], None]
    _next_look: float = 0.0
    _is_told: bool = False
    _has_any: bool = False

    def start(self) -> None:
        self._take(fetch_partitions(self.consumer, self.troubles, self.wanted.topic))
        self._wait(time.monotonic())

    def look(self, now: float) -> None:
        if now < self._next_look or self.wanted.is_complete:
            return
        try:
            self._take(fetch_partitions(self.consumer, self.troubles, self.wanted.topic))
        except SilentBrokerError:
            pass  # it did answer once: reading goes on when it comes back
        self._wait(now)

    def close(self) -> None:
        """Nothing to hand back: nobody but us knows what we read."""

    def _wait(self, now: float) -> None:
        self._next_look = now + (LOOK_S if self._has_any else LOOK_WHILE_MISSING_S)

    def _take(self, partitions: Mapping[str, Sequence[int]]) -> None:
        from confluent_kafka import TopicPartition

        places = self.wanted.take(partitions)
        if places:
            self._has_any = True
            self.consumer.incremental_assign(
                [TopicPartition(place.topic, place.partition, place.offset) for place in places]
            )
        elif not self._has_any and not self._is_told and self.wanted.topic is not None:
            self._is_told = True
            missing = f"has no partition {self.wanted.partition}" if partitions else self._hint()
            self.warn(f"topic {self.wanted.topic} {missing}: waiting for it")

    def _hint(self) -> str:
        from barnabas.cli.near import nearest

        names = fetch_partitions(self.consumer, self.troubles, None)
        near = nearest(self.wanted.topic or "", names)
        return "does not exist" if near is None else f"does not exist (did you mean {near}?)"


@dataclass(slots=True, kw_only=True)
class GroupMember:
    """Reads what the group's coordinator assigns."""

    consumer: Consumer
    troubles: Troubles
    wanted: Assignment
    _subscribed: list[str] = field(default_factory=list)
    _next_look: float = 0.0

    def start(self) -> None:
        self._subscribe(fetch_partitions(self.consumer, self.troubles, self.wanted.topic))
        self._wait(time.monotonic())

    def look(self, now: float) -> None:
        if self.wanted.topic is not None or now < self._next_look:
            return
        try:
            self._subscribe(fetch_partitions(self.consumer, self.troubles, None))
        except SilentBrokerError:
            pass  # it did answer once: reading goes on when it comes back
        self._wait(now)

    def close(self) -> None:
        """Commits, and leaves the group so that others get the partitions at once."""
        self.consumer.close()

    def _wait(self, now: float) -> None:
        self._next_look = now + (LOOK_S if self._subscribed else LOOK_WHILE_MISSING_S)

    def _subscribe(self, partitions: Mapping[str, Sequence[int]]) -> None:
        if self.wanted.topic is not None:
            names = [self.wanted.topic]
        else:
            names = sorted(filter(self.wanted.wants, partitions))
        if names and names != self._subscribed:
            self.consumer.subscribe(names)
            self._subscribed = names


def fetch_partitions(
    consumer: Consumer, troubles: Troubles, topic: str | None
) -> dict[str, list[int]]:
    """Partitions by topic, of one topic or of all that exist."""
    metadata = fetch_metadata(consumer, troubles, topic)
    return {
        name: sorted(found.partitions)
        for name, found in metadata.topics.items()
        if found.partitions
    }


@dataclass(slots=True, kw_only=True)
class Printer:
    """Consumes and prints until there is a reason to stop.  One thread."""

    consumer: Consumer
    source: Source
    troubles: Troubles
    format: Formatter
    output: BinaryIO
    warn: Callable[[str], None]
    max_messages: int | None = None
    timeout_s: float | None = None
    """Stop after this long without a record."""
    skip_errors: bool = False
    processed: int = 0
    _told: set[str] = field(default_factory=set)

    def run(self) -> None:
        for batch in self._batches():
            self._print(batch)

    def _batches(self) -> Iterator[list[Message]]:
        """Records as they come: at once if few come, many together if many do."""
        last = time.monotonic()
        while (left := self._left()) > 0:
            wait = WAIT_S if self.timeout_s is None else min(WAIT_S, self.timeout_s)
            first = self.consumer.poll(wait)
            now = time.monotonic()
            if first is not None:
                rest = self.consumer.consume(left - 1, 0) if left > 1 else []
                last = now
                yield [first, *rest]
            elif self.timeout_s is not None and now - last >= self.timeout_s:
                return
            self.troubles.check()
            self.source.look(now)

    def _left(self) -> int:
        return (
            BATCH if self.max_messages is None else min(BATCH, self.max_messages - self.processed)
        )

    def _print(self, batch: Sequence[Message]) -> None:
        lines: list[bytes] = []
        try:
            for message in batch:
                error = message.error()
                if error is not None:
                    self._consume_error(error)
                    continue
                self.processed += 1
                try:
                    lines.append(self.format(message))
                except DeserializeError as fault:
                    if not self.skip_errors:
                        raise CommandError(
                            f"Error processing message, terminating consumer process: {fault}"
                        ) from None
                    self.warn(f"Error processing message, skipping this message: {fault}")
        finally:
            self.output.write(b"".join(lines))
            self.output.flush()

    def _consume_error(self, error: KafkaError) -> None:
        name, text = error.name(), error.str()
        if name not in PASSING:
            raise CommandError(text)
        if text not in self._told:
            self._told.add(text)
            self.warn(text)


def say_total(count: int) -> None:
    print(f"Processed a total of {count} messages", file=sys.stderr, flush=True)

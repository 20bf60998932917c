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

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

    from barnabas.client.connect import Troubles

WAIT_S = 0.1
"""The longest that Ctrl-C has to wait."""
BATCH = 10_000
LOOK_S = 5.0
"""How often to look for new topics and partitions ..."""
LOOK_WHILE_MISSING_S = 0.5
"""... and how often while what was asked for does not exist."""
METADATA_TIMEOUT_S = 5.0

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

    def start(self) -> None: ...

    def look(self, now: float) -> None:
        """Called every so often; looks whether there is anything new once it is time."""

    def close(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class AllPartitions:
    """Takes every partition that exists, without a group."""

    consumer: Consumer
    wanted: Assignment
    warn: Callable[[str], None]
    _next_look: float = 0.0
    _told_missing: bool = False
    _found: bool = False

    def start(self) -> None:
        self._take(time.monotonic())

    def look(self, now: float) -> None:
        if now >= self._next_look and not self.wanted.is_complete:
            self._take(now)

    def close(self) -> None:
        """Nothing to hand back: nobody but us knows what we read."""

    def _take(self, now: float) -> None:
        from confluent_kafka import TopicPartition

        partitions = partitions_of(self.consumer, self.wanted.topic)
        if partitions is not None:
            places = [
                TopicPartition(place.topic, place.partition, place.offset)
                for place in self.wanted.take(partitions)
            ]
            if places:
                self.consumer.incremental_assign(places)
                self._found = True
            elif not self._found:
                self._tell_missing(partitions)
        self._next_look = now + (LOOK_S if self._found else LOOK_WHILE_MISSING_S)

    def _tell_missing(self, partitions: Mapping[str, Sequence[int]]) -> None:
        if self._told_missing or self.wanted.topic is None:
            return
        self._told_missing = True
        if partitions:
            what = f"topic {self.wanted.topic} has no partition {self.wanted.partition}"
        else:
            what = f"topic {self.wanted.topic} does not exist"
        self.warn(f"{what}: waiting for it")


@dataclass(slots=True, kw_only=True)
class GroupMember:
    """Reads what the group's coordinator assigns."""

    consumer: Consumer
    topic: str | None
    matches: Callable[[str], bool]
    _subscribed: list[str] = field(default_factory=list)
    _next_look: float = 0.0

    def start(self) -> None:
        self._subscribe(time.monotonic())

    def look(self, now: float) -> None:
        if self.topic is None and now >= self._next_look:
            self._subscribe(now)

    def close(self) -> None:
        """Commits, and leaves the group so that others get the partitions at once."""
        self.consumer.close()

    def _subscribe(self, now: float) -> None:
        if self.topic is not None:
            names = [self.topic]
        else:
            names = sorted(filter(self.matches, partitions_of(self.consumer, None) or {}))
        if names and names != self._subscribed:
            self.consumer.subscribe(names)
            self._subscribed = names
        self._next_look = now + (LOOK_S if names else LOOK_WHILE_MISSING_S)


def partitions_of(consumer: Consumer, topic: str | None) -> dict[str, list[int]] | None:
    """Partitions by topic, of one topic or of all; None if nobody answered in time."""
    from confluent_kafka import KafkaException

    try:
        if topic is None:
            metadata = consumer.list_topics(timeout=METADATA_TIMEOUT_S)
        else:
            metadata = consumer.list_topics(topic, timeout=METADATA_TIMEOUT_S)
    except KafkaException as error:
        if error.args[0].name() in PASSING:
            return None
        raise CommandError(error.args[0].str()) from None
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
        self.source.start()
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


def total_line(count: int) -> str:
    return f"Processed a total of {count} messages"


def say_total(count: int) -> None:
    print(total_line(count), file=sys.stderr, flush=True)

"""The loop of `kafka-consumer-perf-test`: receives as fast as it can, and counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import CommandError
from barnabas.cli.consuming import PASSING
from barnabas.cli.perf_rows import Received

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from barnabas.client.connect import Troubles

AT_ONCE = 1000
WAIT_S = 0.1
"""The longest that Ctrl-C has to wait."""

_error = methodcaller("error")
_key = methodcaller("key")


def _now_ms() -> int:
    return time.time_ns() // 10**6


@dataclass(slots=True, kw_only=True)
class Receiver:
    """A consumer that does nothing but count.  One thread."""

    consumer: Consumer
    troubles: Troubles
    topics: Sequence[str]
    wanted: int
    timeout_s: float
    interval_ms: int
    on_interval: Callable[[Received, Received], None]
    on_progress: Callable[[int], None]
    check: Callable[[], None]
    """Raises if it is time to stop."""
    count: int = 0
    size_bytes: int = 0
    joining_ms: int = 0
    _joining_since_ms: int = 0
    _assigned: set[tuple[str, int]] = field(default_factory=set)

    def run(self) -> tuple[Received, Received]:
        """The beginning and the end; fewer records than wanted if none came for too long."""
        self._joining_since_ms = _now_ms()
        start = last = self._so_far()
        self.consumer.subscribe(
            list(self.topics), on_assign=self._on_assign, on_revoke=self._on_revoke
        )
        heard = time.monotonic()
        while self.count < self.wanted:
            messages = self.consumer.consume(min(AT_ONCE, self.wanted - self.count), WAIT_S)
            now = time.monotonic()
            if messages:
                heard = now
                self._count(messages)
                self.on_progress(self.count)
            elif now - heard > self.timeout_s:
                break
            self.check()
            self.troubles.check()
            if (moment := self._so_far()).time_ms - last.time_ms >= self.interval_ms:
                self.on_interval(last, moment)
                last = moment
        return start, self._so_far()

    def _so_far(self) -> Received:
        return Received(
            time_ms=_now_ms(),
            count=self.count,
            size_bytes=self.size_bytes,
            joining_ms=self.joining_ms,
        )

    def _count(self, messages: list[Message]) -> None:
        """Without a step of Python for each record: `len` of a message is that of its value."""
        if any(map(_error, messages)):
            for message in filter(_error, messages):
                check_error(message.error())
            messages = list(filterfalse(_error, messages))
        self.count += len(messages)
        self.size_bytes += sum(map(len, messages)) + sum(
            map(len, filter(None, map(_key, messages)))
        )

    def _on_assign(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        if not self._assigned:
            self.joining_ms += _now_ms() - self._joining_since_ms
        self._assigned.update((each.topic, each.partition) for each in partitions)

    def _on_revoke(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        self._assigned.difference_update((each.topic, each.partition) for each in partitions)
        if not self._assigned:
            self._joining_since_ms = _now_ms()


def check_error(error: Any) -> None:
    """`CommandError` for what does not pass by itself."""
    if error.name() not in PASSING:
        raise CommandError(error.str())

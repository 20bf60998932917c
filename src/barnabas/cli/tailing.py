"""Reads parts of partitions from one offset to another: the loop of `barnabas topics tail`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.consuming import PASSING, WAIT_S
from barnabas.cli.tail_rows import Place
from barnabas.client.connect import Troubles

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

AT_ONCE = 1000


@dataclass(slots=True, kw_only=True)
class Reader:
    """One thread.  The consumer must tell when it comes to the end of a partition."""

    consumer: Consumer
    troubles: Troubles
    timeout_s: float
    monotonic: Callable[[], float] = time.monotonic

    def read(
        self, spans: Mapping[Place, tuple[int, int]], now: float
    ) -> dict[Place, list[Message]]:
        """The records from the first offset of each span up to the second, which is not in it.

        `CommandError` if brokers are silent for too long.
        """
        from confluent_kafka import TopicPartition

        self.consumer.assign([TopicPartition(*place, first) for place, (first, _) in spans.items()])
        found: dict[Place, list[Message]] = {}
        pending = {place: end for place, (_, end) in spans.items()}
        heard = now
        while pending:
            first = self.consumer.poll(WAIT_S)
            messages = [] if first is None else [first, *self.consumer.consume(AT_ONCE, 0)]
            self.troubles.check()
            for message in messages:
                self._take(message, pending, found)
            now = self.monotonic()
            heard = now if messages else heard
            if now - heard > self.timeout_s:
                missing = ", ".join(f"{topic}-{number}" for topic, number in sorted(pending))
                raise CommandError(f"no answer from the leaders of {missing}")
        return found

    def _take(
        self,
        message: Message,
        pending: dict[Place, int],
        found: dict[Place, list[Message]],
    ) -> None:
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is not None:
            if error.name() == "_PARTITION_EOF":
                pending.pop(place, None)
            elif error.name() not in PASSING:
                raise CommandError(error.str())
            return
        end = pending.get(place)
        offset = message.offset() or 0
        if end is None:
            return
        if offset < end:
            found.setdefault(place, []).append(message)
        if offset >= end - 1:
            del pending[place]

"""The loop of `kafka-producer-perf-test`: sends as fast as it may, and counts what is acknowledged.

Every record is counted when the broker has acknowledged it, with the time that the client library
measured from the call to the answer; none is left out or estimated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import methodcaller
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.perf_rows import SendStats

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from barnabas.client.connect import Troubles

AT_ONCE = 1000
WAIT_S = 0.1
"""The longest that Ctrl-C has to wait."""
LIBRARY_WAIT_S = 30.0
"""For what a coordinator of transactions has to answer."""

_latency_s = methodcaller("latency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What was asked for."""

    topic: str
    count: int
    records_per_s: float | None = None
    """None: as many as possible."""
    warmup: int = 0
    interval_ms: int = 5_000
    transaction_ms: int | None = None
    """How long a transaction lasts; None: none."""


def allowed(load: Load, *, sent: int, elapsed_s: float) -> int:
    """How many records may be sent now, to stay below the rate."""
    left = load.count - sent
    if load.records_per_s is None:
        return min(left, AT_ONCE)
    return max(0, min(left, AT_ONCE, int(elapsed_s * load.records_per_s) + 1 - sent))


@dataclass(slots=True)
class Acknowledgements:
    """What the library reports of records, gathered until somebody counts it.

    Filled while the producer is polled, on our thread.
    """

    arrived: list[Message] = field(default_factory=list)
    failed: int = 0
    first_error: str = ""

    def reporter(self) -> Callable[[KafkaError | None, Message], None]:
        """What is called for every single record, hence so short: counting is left for later."""
        arrived = self.arrived.append

        def report(error: KafkaError | None, message: Message) -> None:
            if error is None:
                arrived(message)
            else:
                self.fail(error)

        return report

    def fail(self, error: KafkaError) -> None:
        self.failed += 1
        self.first_error = self.first_error or error.str()

    def take(self) -> tuple[list[float], int]:
        """Latencies in ms, and bytes, since the last call; no step of Python for each record."""
        latencies_ms = [each * 1000 for each in map(_latency_s, self.arrived)]
        size_bytes = sum(map(len, self.arrived))
        self.arrived.clear()
        return latencies_ms, size_bytes


@dataclass(slots=True, kw_only=True)
class LoadSender:
    """One thread."""

    producer: Producer
    troubles: Troubles
    load: Load
    values: Iterator[bytes]
    say: Callable[[str], None]
    on_progress: Callable[[int], None]
    check: Callable[[], None]
    """Raises if it is time to stop."""
    acknowledgements: Acknowledgements = field(default_factory=Acknowledgements)
    total: SendStats = field(init=False)
    steady: SendStats | None = None
    """Of the records after the warm-up."""
    sent: int = 0
    _acknowledged: int = 0
    _transaction_since: float | None = None

    def run(self) -> None:
        """Sends all records and waits for their acknowledgements."""
        started = time.monotonic()
        self.total = SendStats(_now_ms(), self.load.interval_ms)
        while self.sent < self.load.count:
            self._end_transaction(after_s=(self.load.transaction_ms or 0) / 1000)
            elapsed_s = time.monotonic() - started
            step = allowed(self.load, sent=self.sent, elapsed_s=elapsed_s)
            if step:
                self._send(step)
            self._look(0.0 if step else self._pause(elapsed_s))
        self._end_transaction(after_s=0.0)
        while self.producer.flush(WAIT_S) > 0:
            self._look(0.0)
        self._look(0.0)

    def _pause(self, elapsed_s: float) -> float:
        """Until the next record may be sent."""
        assert self.load.records_per_s is not None, "only a limit makes it wait"
        return min(WAIT_S, max(0.0, self.sent / self.load.records_per_s - elapsed_s))

    def _send(self, step: int) -> None:
        if self.load.transaction_ms is not None and self._transaction_since is None:
            self.producer.begin_transaction()
            self._transaction_since = time.monotonic()
        produce, topic = self.producer.produce, self.load.topic
        report = self.acknowledgements.reporter()
        for value in islice(self.values, step):
            while True:
                try:
                    produce(topic, value, on_delivery=report)
                    break
                except BufferError:
                    self._look(WAIT_S)
        self.sent += step

    def _end_transaction(self, *, after_s: float) -> None:
        since = self._transaction_since
        if since is not None and time.monotonic() - since >= after_s:
            self.producer.commit_transaction(LIBRARY_WAIT_S)
            self._transaction_since = None

    def _look(self, wait_s: float) -> None:
        """Lets the library report, counts it, and tells what is due."""
        self.producer.poll(wait_s)
        self.check()
        self.troubles.check()
        latencies_ms, size_bytes = self.acknowledgements.take()
        self._count(latencies_ms, size_bytes)
        now_ms = _now_ms()
        for stats in (self.total, self.steady):
            line = None if stats is None else stats.due_line(now_ms)
            if line is not None:
                self.say(line)
        self.on_progress(self._acknowledged)

    def _count(self, latencies_ms: list[float], size_bytes: int) -> None:
        if not latencies_ms:
            return
        self.total.add(latencies_ms, size_bytes=size_bytes)
        before, self._acknowledged = self._acknowledged, self._acknowledged + len(latencies_ms)
        warmup = self.load.warmup
        if not warmup or self._acknowledged <= warmup:
            return
        if self.steady is None:
            self.steady = SendStats(_now_ms(), self.load.interval_ms, label=" steady state")
            self.total.is_quiet = True
            self.say("In steady state.")
        steady = latencies_ms[max(0, warmup - before) :]
        self.steady.add(steady, size_bytes=size_bytes * len(steady) // len(latencies_ms))

    def summary(self) -> list[str]:
        """The lines of the end."""
        now_ms = _now_ms()
        return [stats.total_line(now_ms) for stats in (self.total, self.steady) if stats]

    def check_failures(self) -> None:
        """`CommandError` if records were not acknowledged."""
        found = self.acknowledgements
        if found.failed:
            raise CommandError(
                f"{found.failed} of {self.load.count} records were not sent: {found.first_error}"
            )


def _now_ms() -> int:
    return time.time_ns() // 10**6

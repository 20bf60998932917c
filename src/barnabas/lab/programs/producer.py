"""The lab's producer: records with running numbers, each in the log once it is delivered."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from barnabas.lab.programs.quotations import quotation
from barnabas.lab.verdict.journal import What

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from barnabas.client.connect import Troubles
    from barnabas.lab.programs.journaling import Journal
    from barnabas.lab.programs.options import ProducerOptions
    from barnabas.lab.programs.payload_log import PayloadLog

LOOK_EVERY = 500
"""Records between two looks at what was delivered."""
WAIT_S = 0.1
LAST_CHANCE_S = 5.0
"""How long a producer that is told to stop waits for what is on its way."""

REFUSALS = frozenset(
    {
        "MSG_SIZE_TOO_LARGE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "POLICY_VIOLATION",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TOPIC_EXCEPTION",
        "_UNKNOWN_TOPIC",
        "_UNKNOWN_PARTITION",
    }
)
"""Errors after which a record surely is not there.  After all others it may be: it could have been
appended by an earlier try whose answer got lost.
"""


class _Report(NamedTuple):
    """What the library says of a record, taken down in its callback."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    error: str


@dataclass(slots=True)
class Tally:
    """How many records came to what end."""

    sent: int = 0
    delivered: int = 0
    failed: int = 0
    first_error: str = ""


@dataclass(slots=True, kw_only=True)
class LabProducer:
    """Sends what it was told to and waits for every answer.  One thread.

    Its `on_delivery` must be that of the client that is given to `run`.  A record is in the payload
    log once the library says that it was delivered: with acks=0 that is when it went to the socket.
    One that failed is not: its sender knows of it.
    """

    options: ProducerOptions
    log: PayloadLog
    journal: Journal
    say: Callable[[str], None]
    is_stopped: Callable[[], bool] = lambda: False
    tally: Tally = field(default_factory=Tally)
    _reports: list[_Report] = field(default_factory=list)
    _sent: list[str] = field(default_factory=list)

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        """Called by the library while it is polled; must not raise, and does little."""
        partition, offset = message.partition(), message.offset()
        self._reports.append(
            _Report(
                -1 if partition is None else partition,
                -1 if offset is None else offset,
                message.key(),
                message.value(),
                "" if error is None else error.name(),
            )
        )

    def run(self, producer: Producer, troubles: Troubles) -> Tally:
        """To the end, or until it is told to stop; then what is on its way has a last chance."""
        options = self.options
        if options.explanation is not None:
            self.say(options.explanation)
        self.journal.note(What.STARTED, options.topic)
        number = options.first_number
        for roll in range(options.num_rolls):
            if roll and not self.is_stopped():
                self._pause(producer, options.wait_after_roll / 1000)
            for _ in range(options.num_records_per_roll):
                if self.is_stopped():
                    break
                self._send(producer, troubles, number)
                number += 1
        self._finish(producer, troubles)
        why = "stopped" if self.is_stopped() else "all records are delivered or given up"
        self.journal.note(What.ENDED, detail=why)
        return self.tally

    def _send(self, producer: Producer, troubles: Troubles, number: int) -> None:
        options = self.options
        key, value = str(number), quotation(number)
        while True:
            try:
                producer.produce(options.topic, value.encode(), key.encode())
                break
            except BufferError:
                if self.is_stopped():
                    return
                self._look(producer, WAIT_S)
                troubles.check()
        self.tally.sent += 1
        self._sent.append(key)
        if options.wait_after_send:
            self._pause(producer, options.wait_after_send / 1000)
        elif self.tally.sent % LOOK_EVERY == 0:
            self._look(producer, 0)
            troubles.check()

    def _pause(self, producer: Producer, seconds: float) -> None:
        """Waits, and meanwhile takes down what was delivered."""
        end = time.monotonic() + seconds
        self._look(producer, 0)
        while (left := end - time.monotonic()) > 0 and not self.is_stopped():
            self._look(producer, min(left, WAIT_S))

    def _finish(self, producer: Producer, troubles: Troubles) -> None:
        give_up: float | None = None
        while len(producer):
            if self.is_stopped():
                give_up = give_up or time.monotonic() + LAST_CHANCE_S
                if time.monotonic() > give_up:
                    producer.purge()
            self._look(producer, WAIT_S)
            troubles.check()
        self._look(producer, 0)

    def _look(self, producer: Producer, wait_s: float) -> None:
        """Lets the library report, and writes down what it did."""
        if self._sent:
            self.journal.note(What.SENT, self.options.topic, keys=self._sent)
            self._sent.clear()
        producer.poll(wait_s)
        if self._reports:
            reports = self._reports[:]
            self._reports.clear()
            self._write(reports)

    def _write(self, reports: list[_Report]) -> None:
        topic = self.options.topic
        places: dict[tuple[int, str], list[_Report]] = defaultdict(list)
        for report in reports:
            places[report.partition, report.error].append(report)
            if not report.error:
                self.log.add(topic, report.partition, report.key, report.value)
        self.log.flush()
        for (partition, error), found in places.items():
            keys = [(report.key or b"").decode() for report in found]
            if error:
                self._failed(partition, error, keys)
                continue
            self.tally.delivered += len(found)
            offsets = [max(-1, report.offset) for report in found]
            self.journal.note(What.ACKED, topic, partition, offsets=offsets, keys=keys)

    def _failed(self, partition: int, error: str, keys: list[str]) -> None:
        if not self.tally.failed:
            self.tally.first_error = error
        self.tally.failed += len(keys)
        what = What.REFUSED if error in REFUSALS else What.FAILED
        self.journal.note(what, self.options.topic, partition, keys=keys, detail=error)
        self.say(f"not delivered: {len(keys)} records of partition {partition}: {error}")

"""`barnabas pipeline generate`: made-up prices and truck positions, to try pipelines with."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    client_properties,
    warn,
)
from barnabas.cli.options import INT_MAX, LONG_MAX, Option, Parsed, UsageError, command_of
from barnabas.pipelines.generator import GENERATORS, Generated, log_line

if TYPE_CHECKING:
    from typing import TextIO

    from confluent_kafka import KafkaError, Message, Producer

    from barnabas.client.connect import Troubles

DEFAULT_RECORDS = 10_000
DEFAULT_STEP_MS = 100
DEFAULT_START = "2026-01-05T09:00:00Z"
POLL_S = 0.5

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    Option(name="topic", value="TOPIC", help="Where to send; by default the kind's own name."),
    Option(
        name="records",
        value="NUMBER",
        whole=(1, LONG_MAX),
        help=f"How many records. Default: {DEFAULT_RECORDS}.",
    ),
    Option(
        name="rate",
        value="NUMBER",
        whole=(1, INT_MAX),
        help="So many records a second. Default: as fast as they can be sent.",
    ),
    Option(
        name="seed",
        value="NUMBER",
        whole=(0, LONG_MAX),
        help="The same seed makes the same records. Default: 1.",
    ),
    Option(
        name="start",
        value="TIME",
        help=f"Time in the data of the first record, or now. Default: {DEFAULT_START}.",
    ),
    Option(
        name="step",
        value="MS",
        whole=(1, INT_MAX),
        help=f"Time from one record to the next, in the data. Default: {DEFAULT_STEP_MS}.",
    ),
    Option(
        name="log",
        value="FILE",
        help="Write a line for each record that a broker has taken: topic,partition,key,value, as "
        "reconcile reads it.",
    ),
)


def run(args: Parsed) -> int:
    kind = command_of(args, GENERATORS)
    properties = client_properties(args, files=["command-config"], pairs=["command-property"])
    count = args.number("records") or DEFAULT_RECORDS
    seed = args.number("seed")
    made = GENERATORS[kind](
        1 if seed is None else seed,
        start_ms(args.text("start") or DEFAULT_START, time.time()),
        args.number("step") or DEFAULT_STEP_MS,
    )
    raise_on_sigterm()
    with _log(args.text("log")) as log:
        sender = _Sender(properties, args.text("topic") or kind, log)
        sender.send(itertools.islice(made, count), count, args.number("rate"))
    print(f"sent {count:,} records to {sender.topic}", file=sys.stderr)
    return 0


def start_ms(text: str, now_s: float) -> int:
    """A time as people write it, in UTC unless it says otherwise (pure)."""
    if text == "now":
        return round(now_s * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f'--start: "{text}" is neither now nor like {DEFAULT_START}') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


@contextlib.contextmanager
def _log(path: str | None) -> Iterator[TextIO | None]:
    if path is None:
        yield None
        return
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        yield file


class _Sender:
    """Sends with acks=all and idempotence, so that what is in the log is what the topic has."""

    def __init__(self, properties: dict[str, str], topic: str, log: TextIO | None) -> None:
        from barnabas.client.connect import open_producer

        self.topic = topic
        self._log = log
        self._failure: str | None = None
        self._producer: Producer
        self._troubles: Troubles
        self._producer, self._troubles = open_producer(
            properties,
            {
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "on_delivery": self._delivered,
            },
            warn,
        )

    def send(self, records: Iterator[Generated], count: int, rate: int | None) -> None:
        from barnabas.cli.progress import Progress

        begun = time.monotonic()
        with Progress("sending", total=count) as progress:
            for number, record in enumerate(records):
                if rate is not None:
                    self._wait_until(begun + number / rate)
                self._produce(record)
                progress.at(number)
            while self._producer.flush(POLL_S):
                self._check()
        self._check()

    def _produce(self, record: Generated) -> None:
        while True:
            try:
                self._producer.produce(self.topic, record.value, record.key)
                break
            except BufferError:  # the queue is full: room comes with what is delivered
                self._producer.poll(POLL_S)
                self._check()
        self._producer.poll(0)
        self._check()

    def _wait_until(self, due: float) -> None:
        """Deliveries are told meanwhile."""
        while (left := due - time.monotonic()) > 0:
            self._producer.poll(left)
            self._check()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = error.str()
        elif self._log is not None:
            parts = (message.topic(), message.partition(), message.key(), message.value())
            self._log.write(log_line(*parts))

    def _check(self) -> None:
        self._troubles.check()
        if self._failure is not None:
            raise CommandError(f"a record was not taken: {self._failure}")


COMMAND = Command(
    summary="Send made-up prices of shares, or positions of trucks, to try pipelines with.",
    examples=(
        "prices --records 100000",
        "trucks --rate 50 --start now",
        "prices --topic trades --seed 7 --log sent.log",
    ),
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=tuple(GENERATORS),
    notes=(
        "A price is symbol, price, volume and at; a position is truck, lat, lon, speed and at.",
    ),
)

"""Records from standard input to a producer: the loop of `kafka-console-producer`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.line_reader import LineError, LineFormat, LineSplitter, shown

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from barnabas.client.connect import Troubles

READ_BYTES = 1 << 18
WAIT_S = 0.1
"""How long to wait for input, or for room, before looking at what the broker has answered."""
PROMPT = ">"


@dataclass(slots=True)
class Failures:
    """Records that did not get through, told one by one on stderr.

    Called by librdkafka's delivery reports, hence while the producer is polled, on our thread.
    """

    count: int = 0

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.note(message.value(), error.str())

    def note(self, value: bytes | None, reason: str) -> None:
        self.count += 1
        what = "null" if value is None else f"'{shown(value)}'"
        print(f"failed to send record {what}: {reason}", file=sys.stderr)


@dataclass(slots=True, kw_only=True)
class Sender:
    """Queues records, and waits where it has to.  One thread."""

    producer: Producer
    troubles: Troubles
    failures: Failures
    topic: str
    sync: bool
    block_s: float
    """How long to wait for room in the queue before a record counts as failed."""

    def send_values(self, values: list[bytes]) -> None:
        """Records that are nothing but a value: the fast way for large inputs."""
        if self.sync:
            for value in values:
                self._send(value, None, [])
            return
        from confluent_kafka import KafkaException

        produce, topic = self.producer.produce, self.topic
        for value in values:
            try:
                produce(topic, value)
            except (BufferError, KafkaException):
                self._send(value, None, [])
        self.look()

    def send_lines(self, lines: list[bytes], line_format: LineFormat, first_number: int) -> None:
        for number, line in enumerate(lines, start=first_number):
            record = line_format.parse(line, number)
            self._send(record.value, record.key, record.headers)
        self.look()

    def _send(
        self, value: bytes | None, key: bytes | None, headers: list[tuple[str, str | bytes | None]]
    ) -> None:
        from confluent_kafka import KafkaException

        give_up = time.monotonic() + self.block_s
        while True:
            try:
                self.producer.produce(self.topic, value, key, headers=headers)
                break
            except BufferError:
                if time.monotonic() >= give_up:
                    self.failures.note(value, "no room in the queue within max.block.ms")
                    return
                self.producer.poll(WAIT_S)
                self.troubles.check()
            except KafkaException as error:
                self.failures.note(value, error.args[0].str())
                return
        if self.sync:
            self.finish()

    def look(self) -> None:
        """Lets the library report; never waits."""
        self.producer.poll(0)
        self.troubles.check()

    def finish(self) -> None:
        """Waits until every record is acknowledged or has failed."""
        while self.producer.flush(WAIT_S) > 0:
            self.troubles.check()


def send_input(sender: Sender, line_format: LineFormat, *, fd: int, prompt: bool) -> None:
    """Sends every line of the input, then waits until all is acknowledged."""
    splitter = LineSplitter()
    number = 1
    try:
        for data in _chunks(fd, prompt=prompt, idle=sender.look):
            lines = splitter.feed(data) if data else splitter.rest()
            if line_format.is_plain:
                sender.send_values(lines)
            else:
                sender.send_lines(lines, line_format, number)
            number += len(lines)
    except LineError as error:
        sender.finish()  # what came before the bad line is sent all the same
        raise CommandError(str(error)) from None
    sender.finish()


def _chunks(fd: int, *, prompt: bool, idle: Callable[[], None]) -> Iterator[bytes]:
    """Pieces of the input as they come, and an empty one at its end."""
    import select

    try:
        while True:
            if prompt:
                print(PROMPT, end="", flush=True)
            while not select.select([fd], [], [], WAIT_S)[0]:
                idle()
            data = os.read(fd, READ_BYTES)
            yield data
            if not data:
                break
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise CommandError(f"cannot read standard input: {error.strerror}") from None
    if prompt:
        print()  # Ctrl-D leaves the cursor behind the prompt

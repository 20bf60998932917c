"""The loop of the producer against a producer that keeps what it is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.cli.command import CommandError
from barnabas.cli.line_reader import LineFormat
from barnabas.cli.sending import Failures, Sender, send_input
from barnabas.client.connect import Troubles
from barnabas.client.errors import ClientError


@dataclass(slots=True)
class FakeProducer:
    """Has room for so many records between two polls; refuses the value `too large`."""

    room: int = 1000
    records: list[tuple[Any, ...]] = field(default_factory=list)
    queued: int = 0
    flushes: int = 0
    is_stuck: bool = False

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        headers: Any = None,
    ) -> None:
        if value == b"too large":
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"))
        if self.queued >= self.room:
            raise BufferError
        self.queued += 1
        self.records.append((topic, key, value, headers or None))

    def poll(self, timeout: float = -1) -> int:
        if not self.is_stuck:
            self.queued = 0
        return 0

    def flush(self, timeout: float = -1) -> int:
        self.flushes += 1
        self.queued = 0
        return 0


def make_sender(producer: FakeProducer, *, sync: bool = False, block_s: float = 60) -> Sender:
    untyped: Any = producer
    return Sender(
        producer=untyped,
        troubles=Troubles("h:1", print),
        failures=Failures(),
        topic="t",
        sync=sync,
        block_s=block_s,
    )


@pytest.fixture
def pipe() -> Iterator[Callable[[bytes], int]]:
    """A descriptor from which given bytes can be read, and then the end."""
    opened: list[int] = []

    def make(data: bytes) -> int:
        reading, writing = os.pipe()
        opened.append(reading)
        os.write(writing, data)
        os.close(writing)
        return reading

    yield make
    for descriptor in opened:
        os.close(descriptor)


Pipe = Callable[[bytes], int]


def test_every_line_is_a_record_and_all_are_waited_for(pipe: Pipe) -> None:
    producer = FakeProducer()

    send_input(make_sender(producer), LineFormat(), fd=pipe(b"a\n\nb"), prompt=False)

    assert [record[2] for record in producer.records] == [b"a", b"", b"b"]
    assert producer.flushes == 1


def test_lines_are_taken_apart_as_told(pipe: Pipe) -> None:
    producer = FakeProducer()
    line_format = LineFormat(parse_key=True, parse_headers=True)

    send_input(make_sender(producer), line_format, fd=pipe(b"h:1\tk\tv\n"), prompt=False)

    assert producer.records == [("t", b"k", b"v", [("h", b"1")])]


@pytest.mark.parametrize("line_format", [LineFormat(), LineFormat(parse_key=True)])
def test_in_step_each_record_is_waited_for(pipe: Pipe, line_format: LineFormat) -> None:
    producer = FakeProducer()

    send_input(make_sender(producer, sync=True), line_format, fd=pipe(b"\ta\n\tb\n"), prompt=False)

    assert len(producer.records) == 2
    assert producer.flushes == 3


def test_a_full_queue_is_waited_for_and_keeps_the_order(pipe: Pipe) -> None:
    producer = FakeProducer(room=2)
    lines = [b"%d" % number for number in range(9)]

    send_input(make_sender(producer), LineFormat(), fd=pipe(b"\n".join(lines)), prompt=False)

    assert [record[2] for record in producer.records] == lines


def test_a_queue_that_stays_full_fails_the_record(
    pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    producer = FakeProducer(room=1, is_stuck=True)
    sender = make_sender(producer, block_s=0)

    send_input(sender, LineFormat(), fd=pipe(b"a\nb\n"), prompt=False)

    assert [record[2] for record in producer.records] == [b"a"]
    assert sender.failures.count == 1
    assert capsys.readouterr().err == (
        "failed to send record 'b': no room in the queue within max.block.ms\n"
    )


def test_a_refused_record_is_told_and_the_others_go_on(
    pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    producer = FakeProducer()
    sender = make_sender(producer)

    send_input(sender, LineFormat(), fd=pipe(b"a\ntoo large\nb\n"), prompt=False)

    assert [record[2] for record in producer.records] == [b"a", b"b"]
    assert sender.failures.count == 1
    assert capsys.readouterr().err == "failed to send record 'too large': too large\n"


def test_a_bad_line_names_its_number_over_all_input(pipe: Pipe) -> None:
    producer = FakeProducer()

    with pytest.raises(CommandError, match="No key separator found on line number 3: 'bad'"):
        send_input(
            make_sender(producer),
            LineFormat(parse_key=True),
            fd=pipe(b"k\t1\nk\t2\nbad\nk\t4\n"),
            prompt=False,
        )

    assert [record[2] for record in producer.records] == [b"1", b"2"]
    assert producer.flushes == 1


def test_a_fatal_trouble_ends_it(pipe: Pipe) -> None:
    sender = make_sender(FakeProducer())
    sender.troubles.fatal = ClientError("wrong password")

    with pytest.raises(ClientError, match="wrong password"):
        send_input(sender, LineFormat(), fd=pipe(b"a\n"), prompt=False)


def test_input_that_cannot_be_read_is_said(pipe: Pipe) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)

    with pytest.raises(CommandError, match="cannot read standard input: Bad file descriptor"):
        send_input(make_sender(FakeProducer()), LineFormat(), fd=reading, prompt=False)


def test_the_prompt_stands_before_each_line(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    send_input(make_sender(FakeProducer()), LineFormat(), fd=pipe(b"a\n"), prompt=True)

    assert capsys.readouterr().out == ">>\n"


def test_a_delivery_report_without_error_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    failures = Failures()
    message: Any = None
    failures(None, message)

    assert failures.count == 0
    assert capsys.readouterr().err == ""

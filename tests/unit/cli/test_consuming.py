"""The loop of the consumer against a consumer that plays back what it is told to."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.cli.assigning import BEGINNING, END, Assignment
from barnabas.cli.command import CommandError
from barnabas.cli.consuming import LOOK_S, AllPartitions, GroupMember, Printer
from barnabas.cli.deserializers import DeserializeError
from barnabas.client.connect import Troubles
from barnabas.client.errors import ClientError, SilentBrokerError


@dataclass(slots=True)
class FakeMessage:
    text: bytes = b""
    failure: KafkaError | None = None

    def value(self) -> bytes:
        return self.text

    def error(self) -> KafkaError | None:
        return self.failure


@dataclass(slots=True)
class FakeConsumer:
    """Gives `waiting` out; `topics` is what exists, an error is raised in its place."""

    waiting: list[FakeMessage] = field(default_factory=list)
    topics: dict[str, list[int]] | KafkaError = field(default_factory=dict)
    asked_for: list[int] = field(default_factory=list)
    assigned: list[tuple[str, int, int]] = field(default_factory=list)
    subscriptions: list[list[str]] = field(default_factory=list)
    is_closed: bool = False

    def poll(self, timeout: float = -1) -> FakeMessage | None:
        return self.waiting.pop(0) if self.waiting else None

    def consume(self, number: int = 1, timeout: float = -1) -> list[FakeMessage]:
        self.asked_for.append(number)
        given, self.waiting = self.waiting[:number], self.waiting[number:]
        return given

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        if isinstance(self.topics, KafkaError):
            raise KafkaException(self.topics)
        found = {
            name: SimpleNamespace(partitions=dict.fromkeys(numbers))
            for name, numbers in self.topics.items()
            if topic in (None, name)
        }
        return SimpleNamespace(topics=found)

    def incremental_assign(self, places: list[Any]) -> None:
        self.assigned += [(place.topic, place.partition, place.offset) for place in places]

    def subscribe(self, names: list[str]) -> None:
        self.subscriptions.append(names)

    def close(self) -> None:
        self.is_closed = True


class NoSource:
    def start(self) -> None: ...
    def look(self, now: float) -> None: ...
    def close(self) -> None: ...


def show(record: Any) -> bytes:
    if record.value() == b"bad":
        raise DeserializeError("not a number")
    return bytes(record.value()) + b"\n"


@dataclass(slots=True)
class Printing:
    consumer: FakeConsumer
    output: io.BytesIO = field(default_factory=io.BytesIO)
    warnings: list[str] = field(default_factory=list)

    def printer(self, **options: Any) -> Printer:
        consumer: Any = self.consumer
        return Printer(
            consumer=consumer,
            source=NoSource(),
            troubles=options.pop("troubles", Troubles("h:1", self.warnings.append)),
            format=show,
            output=self.output,
            warn=self.warnings.append,
            timeout_s=0.0,
            **options,
        )


def printing(*texts: bytes | KafkaError) -> Printing:
    return Printing(
        FakeConsumer(
            [
                FakeMessage(failure=text) if isinstance(text, KafkaError) else FakeMessage(text)
                for text in texts
            ]
        )
    )


def test_everything_that_waits_is_printed_in_order() -> None:
    on = printing(b"a", b"b", b"c")
    printer = on.printer()

    printer.run()

    assert on.output.getvalue() == b"a\nb\nc\n"
    assert printer.processed == 3


@pytest.mark.parametrize("most", [0, 1, 2])
def test_not_one_record_more_than_asked_for_is_taken(most: int) -> None:
    on = printing(b"a", b"b", b"c")
    printer = on.printer(max_messages=most)

    printer.run()

    assert on.output.getvalue() == b"a\nb\n"[: most * 2]
    assert printer.processed == most
    assert len(on.consumer.waiting) == 3 - most


def test_a_record_that_cannot_be_printed_ends_it_after_those_before() -> None:
    on = printing(b"a", b"bad", b"c")
    printer = on.printer()

    with pytest.raises(CommandError, match="terminating consumer process: not a number"):
        printer.run()

    assert on.output.getvalue() == b"a\n"
    assert printer.processed == 2


def test_a_record_that_cannot_be_printed_may_be_skipped() -> None:
    on = printing(b"a", b"bad", b"c")
    on.printer(skip_errors=True).run()

    assert on.output.getvalue() == b"a\nc\n"
    assert on.warnings == ["Error processing message, skipping this message: not a number"]


def test_an_error_that_may_pass_is_told_once_and_is_no_record() -> None:
    gone = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "gone")
    on = printing(b"a", gone, gone, b"b")
    printer = on.printer()

    printer.run()

    assert on.output.getvalue() == b"a\nb\n"
    assert on.warnings == ["gone"]
    assert printer.processed == 2


def test_an_error_that_stays_ends_it() -> None:
    on = printing(b"a", KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not yours"), b"b")

    with pytest.raises(CommandError, match="not yours"):
        on.printer().run()

    assert on.output.getvalue() == b"a\n"


def test_a_fatal_trouble_ends_it() -> None:
    troubles = Troubles("h:1", print, fatal=ClientError("wrong password"))

    with pytest.raises(ClientError, match="wrong password"):
        printing(b"a").printer(troubles=troubles).run()


def all_partitions(
    consumer: FakeConsumer, wanted: Assignment, warnings: list[str]
) -> AllPartitions:
    untyped: Any = consumer
    return AllPartitions(
        consumer=untyped,
        troubles=Troubles("h:1", warnings.append),
        wanted=wanted,
        warn=warnings.append,
    )


def test_new_partitions_are_picked_up_after_a_while() -> None:
    consumer = FakeConsumer(topics={"t": [0]})
    source = all_partitions(consumer, Assignment(topic="t", offset=END), [])
    source.start()
    consumer.topics = {"t": [0, 1]}

    source.look(0.0)
    assert consumer.assigned == [("t", 0, END)]
    source.look(1e12)
    assert consumer.assigned == [("t", 0, END), ("t", 1, BEGINNING)]


def test_what_is_missing_is_told_once_and_taken_when_it_comes() -> None:
    warnings: list[str] = []
    consumer = FakeConsumer(topics={})
    source = all_partitions(consumer, Assignment(topic="t", offset=END), warnings)

    source.start()
    source.look(1e12)
    assert warnings == ["topic t does not exist: waiting for it"]
    consumer.topics = {"t": [0]}
    source.look(2e12)

    assert consumer.assigned == [("t", 0, BEGINNING)]


def test_a_topic_that_is_nearly_there_is_suggested() -> None:
    warnings: list[str] = []
    consumer = FakeConsumer(topics={"orders": [0]})
    all_partitions(consumer, Assignment(topic="order"), warnings).start()

    assert warnings == ["topic order does not exist (did you mean orders?): waiting for it"]


def test_a_missing_partition_is_named() -> None:
    warnings: list[str] = []
    wanted = Assignment(topic="t", partition=9)
    all_partitions(FakeConsumer(topics={"t": [0]}), wanted, warnings).start()

    assert warnings == ["topic t has no partition 9: waiting for it"]


def test_silence_is_fatal_at_the_start_and_waited_out_later() -> None:
    silence = KafkaError(KafkaError._TRANSPORT)
    consumer = FakeConsumer(topics=silence)
    wanted = Assignment(topic="t")
    with pytest.raises(SilentBrokerError):
        all_partitions(consumer, wanted, []).start()

    consumer.topics = {"t": [0]}
    source = all_partitions(consumer, wanted, [])
    source.start()
    consumer.topics = silence
    source.look(1e12)
    consumer.topics = {"t": [0, 1]}
    source.look(1e12 + LOOK_S)
    assert [place[:2] for place in consumer.assigned] == [("t", 0), ("t", 1)]


def member(consumer: FakeConsumer, wanted: Assignment) -> GroupMember:
    untyped: Any = consumer
    return GroupMember(consumer=untyped, troubles=Troubles("h:1", print), wanted=wanted)


def test_a_member_subscribes_and_leaves_the_group_in_the_end() -> None:
    consumer = FakeConsumer(topics={"t": [0]})
    source = member(consumer, Assignment(topic="t"))

    source.start()
    source.look(1e12)
    source.close()

    assert consumer.subscriptions == [["t"]]
    assert consumer.is_closed


def test_a_member_with_a_pattern_follows_the_topics_that_match() -> None:
    consumer = FakeConsumer(topics={"x": [0]})
    source = member(consumer, Assignment(pattern=re.compile("a.*")))

    source.start()
    assert consumer.subscriptions == []
    for now, topics in ((1e12, ["ab"]), (2e12, ["ab"]), (3e12, ["ab", "aa", "b"])):
        consumer.topics = {name: [0] for name in topics}
        source.look(now)
    consumer.topics = KafkaError(KafkaError._TRANSPORT)
    source.look(4e12)

    assert consumer.subscriptions == [["ab"], ["aa", "ab"]]

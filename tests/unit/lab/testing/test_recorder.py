"""What a test is told by any client library becomes a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from barnabas.lab.testing.recorder import Recorder
from barnabas.lab.verdict.records import Outcome, ReceivedRecord, SentRecord, StoredRecord


@dataclass
class AttributeRecord:
    """As kafka-python and aiokafka give them."""

    topic: str
    partition: int
    offset: int
    key: Any
    value: Any


class MethodRecord:
    """As confluent-kafka gives them."""

    def __init__(self, *fields: Any) -> None:
        self._fields = fields

    def topic(self) -> Any:
        return self._fields[0]

    def partition(self) -> Any:
        return self._fields[1]

    def offset(self) -> Any:
        return self._fields[2]

    def key(self) -> Any:
        return self._fields[3]

    def value(self) -> Any:
        return self._fields[4]


@pytest.mark.parametrize("kind", [AttributeRecord, MethodRecord])
def test_records_of_any_library_are_understood(kind: Any) -> None:
    recorder = Recorder()
    recorder.processed(kind("t", 1, 7, b"k", b"v"), "service")

    assert recorder.history([], []).received == [ReceivedRecord("t", 1, "k", "v", 7, "service")]
    assert recorder.topics() == ["t"]


def test_a_value_that_was_deserialized_is_known_by_its_offset() -> None:
    recorder = Recorder()
    recorder.processed(AttributeRecord("t", 0, 4, "k", {"id": 1}))
    stored = [StoredRecord("t", 0, "k", '{"id": 1}', 4)]

    history = recorder.history(stored, stored)

    assert history.received == [ReceivedRecord("t", 0, "k", '{"id": 1}', 4)]
    assert history.sent == [SentRecord("t", 0, "k", '{"id": 1}', 4)]


@pytest.mark.parametrize(("made", "text"), [("v0", '"v0"'), (None, "null")])
def test_a_deserializer_may_make_texts_and_nulls(made: str | None, text: str) -> None:
    recorder = Recorder()
    recorder.processed(AttributeRecord("t", 0, 4, b"k", made))
    stored = [StoredRecord("t", 0, "k", text, 4)]

    assert recorder.history(stored, stored).received == [ReceivedRecord("t", 0, "k", text, 4)]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_what_was_read_whatever_is_at_the_offset_now(kind: Any) -> None:
    recorder = Recorder()
    recorder.processed(AttributeRecord("t", 0, 4, kind(b"k"), kind(b"old")))
    stored = [StoredRecord("t", 0, "k", "new", 4)]

    assert recorder.history(stored, stored).received == [ReceivedRecord("t", 0, "k", "old", 4)]


def test_what_is_there_and_not_committed_is_of_a_transaction_that_was_not() -> None:
    stored = [StoredRecord("t", 0, "k", "v", offset) for offset in (3, 5)]
    silent, told = Recorder(), Recorder()
    for offset in (3, 5, 6):
        told.delivered(None, MethodRecord("t", 0, offset, b"k", b"v"))

    for recorder, offsets in ((silent, [5]), (told, [5, 6])):
        history = recorder.history(stored, stored[1:])
        hidden, *others = history.sent
        assert (hidden.offset, history.ended[hidden.transaction or ""]) == (3, False)
        assert [(each.offset, each.transaction) for each in others] == [
            (offset, None) for offset in offsets
        ]


def test_a_report_of_delivery_says_how_it_ended() -> None:
    recorder = Recorder()
    recorder.delivered(None, MethodRecord("t", 0, 3, b"a", b"1"))
    recorder.delivered("timed out", MethodRecord("t", 0, None, b"b", b"2"))

    assert recorder.history([], []).sent == [
        SentRecord("t", 0, "a", "1", 3, Outcome.ACKNOWLEDGED),
        SentRecord("t", 0, "b", "2", -1, Outcome.UNKNOWN),
    ]


def test_what_was_said_to_be_sent_is_not_taken_from_the_topic() -> None:
    recorder = Recorder()
    recorder.sent("t", "a", "1")

    stored = [StoredRecord("t", 0, "x", "9", 0)]
    history = recorder.history(stored, stored)

    assert history.sent == [SentRecord("t", -1, "a", "1")]


def test_waiting_for_records_ends_when_they_came_or_says_how_many_did() -> None:
    recorder = Recorder()
    recorder.processed(AttributeRecord("t", 0, 0, None, None))

    recorder.wait_processed(1)
    with pytest.raises(TimeoutError, match="1 records processed in 0"):
        recorder.wait_processed(2, timeout_s=0.01)

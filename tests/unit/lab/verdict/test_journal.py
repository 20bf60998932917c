"""Journals: a line for what happened, and the history that they tell."""

from __future__ import annotations

import pytest

from barnabas.lab.verdict.journal import (
    Event,
    JournalError,
    What,
    decode,
    decode_all,
    encode,
    history_of,
)
from barnabas.lab.verdict.judging import judge
from barnabas.lab.verdict.records import Outcome, ReceivedRecord, SentRecord

ACKED = Event(1.5, "p", What.ACKED, "t", 0, (7, 8), ("1", None))


def test_a_line_says_what_there_is_and_leaves_out_the_rest() -> None:
    assert encode(ACKED) == (
        '{"t":1.5,"who":"p","event":"acked","topic":"t","partition":0,"offsets":[7,8],'
        '"keys":["1",null]}\n'
    )
    assert encode(Event(2.0, "c", What.ENDED, detail="quit")) == (
        '{"t":2.0,"who":"c","event":"ended","detail":"quit"}\n'
    )


@pytest.mark.parametrize("event", [ACKED, Event(0.0, "c", What.STARTED)])
def test_what_is_written_is_read(event: Event) -> None:
    assert decode(encode(event)) == event


@pytest.mark.parametrize("line", ["{}", "[]", "1", "{", '{"t":1,"who":"x","event":"danced"}'])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(JournalError, match="not a line of a journal"):
        decode(line)


def test_a_torn_last_line_is_of_a_writer_that_died() -> None:
    assert list(decode_all(encode(ACKED) + encode(ACKED)[:-9])) == [ACKED]


def test_only_a_line_feed_ends_a_line() -> None:
    event = ACKED._replace(keys=("a\u2028b\u2029c\x85d", "e\r\nf"))

    assert list(decode_all(encode(event) + encode(ACKED))) == [event, ACKED]


def test_journals_tell_what_was_sent_and_what_was_processed() -> None:
    history = history_of(
        [
            Event(1, "p", What.SENT, "t", keys=("10", "9", "8", "7")),
            Event(2, "p", What.ACKED, "t", 0, (5,), ("10",)),
            Event(2, "p", What.ACKED, "t", 1, (), ("9",)),
            Event(3, "p", What.FAILED, "t", 0, (), ("8",), "_MSG_TIMED_OUT"),
            Event(4, "c", What.RECEIVED, "t", 0, (5, 6), ("10", "x")),
            Event(5, "c", What.PROCESSED, "t", 0, (5,), ("10",)),
        ],
        values={("t", "10"): "ten"},
    )

    assert history.sent == [
        SentRecord("t", -1, "7", None, -1, Outcome.UNKNOWN, "p"),
        SentRecord("t", 0, "8", None, -1, Outcome.UNKNOWN, "p"),
        SentRecord("t", 1, "9", None, -1, Outcome.ACKNOWLEDGED, "p"),
        SentRecord("t", 0, "10", "ten", 5, Outcome.ACKNOWLEDGED, "p"),
    ]
    assert history.received == [ReceivedRecord("t", 0, "10", "ten", 5, "c")]
    assert [one.key for one in judge(history).lost] == ["9"]

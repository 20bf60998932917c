"""The journal of a lab program: what it did and saw, and when, one JSON object a line.

The payload log is for people and `diff`; the journal has what that leaves out: offsets, times,
what failed, what was committed, which partitions were held.  Pure: lines in, events out, and back.

    {"t":1763272370.125,"who":"producer","event":"acked","topic":"t","partition":0,
     "offsets":[12,13],"keys":["17","18"]}

A line may stand for many records of one partition; what is left out of it is empty.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from barnabas.lab.verdict.judging import by_number
from barnabas.lab.verdict.records import History, Outcome, ReceivedRecord, SentRecord


class What(enum.StrEnum):
    """What can happen to a program."""

    STARTED = "started"
    SENT = "sent"
    """Given to the client library; `keys`."""
    ACKED = "acked"
    """Delivered, says the library (with acks=0: written to the socket); `keys`, `offsets`."""
    FAILED = "failed"
    """Given up, with the error in `detail`: nobody can say whether the records are there."""
    REFUSED = "refused"
    """Refused for good, with the error in `detail`: the records are not there; `keys`."""
    ASSIGNED = "assigned"
    REVOKED = "revoked"
    """Handed back, or with `detail` "lost" taken away."""
    RECEIVED = "received"
    """A poll gave the program these; `keys`, `offsets`."""
    PROCESSED = "processed"
    """Done with, and in the payload log; `keys`, `offsets`."""
    COMMITTED = "committed"
    """The group's position; one number in `offsets`."""
    COMMIT_FAILED = "commit failed"
    STEERED = "steered"
    """One of the three values came that say what to do; `detail`."""
    ENDED = "ended"
    """By itself; `detail` says why.  A program that was killed has no such line."""


class Event(NamedTuple):
    """One thing that happened.  Fields that say nothing have their defaults."""

    t: float
    """Seconds since 1970."""
    who: str
    event: What
    topic: str = ""
    partition: int = -1
    offsets: tuple[int, ...] = ()
    keys: tuple[str | None, ...] = ()
    detail: str = ""


class JournalError(ValueError):
    """A line that is none of a journal."""


_DEFAULTS = Event._field_defaults


def encode(event: Event) -> str:
    """One line, with its end."""
    fields = {
        name: value
        for name, value in event._asdict().items()
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False) + "\n"


def decode(line: str) -> Event:
    """`JournalError` if the line is none of a journal."""
    try:
        fields: Any = json.loads(line)
        return Event(
            t=float(fields["t"]),
            who=str(fields["who"]),
            event=What(fields["event"]),
            topic=fields.get("topic", ""),
            partition=fields.get("partition", -1),
            offsets=tuple(fields.get("offsets", ())),
            keys=tuple(fields.get("keys", ())),
            detail=fields.get("detail", ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise JournalError(f"not a line of a journal: {line.strip()[:80]}") from error


def decode_all(text: str) -> Iterator[Event]:
    """Events of whole lines.  A last line without its end was being written as its writer died.

    Keys may have in them what else Unicode calls the end of a line.
    """
    *whole, _ = text.split("\n")
    for line in whole:
        yield decode(line)


OUTCOMES = {
    What.ACKED: Outcome.ACKNOWLEDGED,
    What.FAILED: Outcome.UNKNOWN,
    What.REFUSED: Outcome.REFUSED,
}


def history_of(
    events: Iterable[Event], *, values: Mapping[tuple[str, str | None], str | None] | None = None
) -> History:
    """What the verdict needs of journals.

    Of a record that was sent and never heard of again nobody knows the outcome.  Journals have no
    values; where keys alone do not tell records apart, `values` has those of (topic, key).
    """
    known = values or {}
    history = History()
    open_: dict[tuple[str, str, str | None], None] = {}
    sent: list[SentRecord] = []
    for event in events:
        if event.event is What.SENT:
            open_.update(dict.fromkeys((event.who, event.topic, key) for key in event.keys))
        elif event.event in OUTCOMES:
            for key, offset in zip(event.keys, _offsets(event), strict=True):
                open_.pop((event.who, event.topic, key), None)
                sent.append(
                    SentRecord(
                        event.topic,
                        event.partition,
                        key,
                        known.get((event.topic, key)),
                        offset,
                        OUTCOMES[event.event],
                        event.who,
                    )
                )
        elif event.event is What.PROCESSED:
            history.received += [
                ReceivedRecord(
                    event.topic,
                    event.partition,
                    key,
                    known.get((event.topic, key)),
                    offset,
                    event.who,
                )
                for key, offset in zip(event.keys, event.offsets, strict=True)
            ]
    sent += [
        SentRecord(topic, -1, key, known.get((topic, key)), -1, Outcome.UNKNOWN, who)
        for who, topic, key in open_
    ]
    history.sent = in_order_of_numbers(sent)
    return history


def _offsets(event: Event) -> tuple[int, ...]:
    return event.offsets or (-1,) * len(event.keys)


def in_order_of_numbers(sent: Iterable[SentRecord]) -> list[SentRecord]:
    """As the programs send: keys are running numbers, reports of delivery come in any order."""
    return sorted(sent, key=lambda record: (record.producer, by_number(record.key)))

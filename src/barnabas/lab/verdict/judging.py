"""The verdict: what became of the records that were sent.  Pure: a history in, a verdict out.

Counts are those of the difference between two payload logs: of a record that was acknowledged and
never processed one is lost; each time that a record is processed more often than it was sent, one
is duplicated.  Names say what kind of loss it was, as far as offsets show it:

| Name | The history shows |
|---|---|
| lost write | it is not in its partition, though later ones are (or were seen, if nobody looked) |
| unseen | nobody saw it, nor anything after it in its partition |
| poll skip | it is in its partition, and the application was led past it |
| duplicate | it is in its partition more than once |
| non-monotonic poll | one offset was processed again |
| non-monotonic send | it stands, or was processed, behind one that its producer sent later |
| aborted read | it was processed, though it was refused or its transaction was aborted |
| foreign | nobody sent it |

`lost` and `duplicate` without more are what payload logs alone can say.  What the cluster as such
promises is checked by the simulator's checker: see `promises.py`.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from barnabas.lab.verdict.records import NOWHERE, Outcome

if TYPE_CHECKING:
    from barnabas.lab.verdict.records import (
        History,
        Identity,
        ReceivedRecord,
        SentRecord,
        StoredRecord,
    )

Place = tuple[str, int]
"""A topic's partition."""


class Delivery(enum.Enum):
    """What an application may rely on."""

    AT_LEAST_ONCE = "at least once"
    AT_MOST_ONCE = "at most once"
    EXACTLY_ONCE = "exactly once"


class Offence(NamedTuple):
    """One record with which something is wrong."""

    name: str
    topic: str
    partition: int
    offset: int
    """-1 if nobody knows."""
    key: str | None
    value: str | None = None
    consumer: str = ""

    def __str__(self) -> str:
        offset = "?" if self.offset < 0 else str(self.offset)
        return f"{self.name}: {self.topic}-{self.partition} offset {offset} key {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Counts, and every record with which something is wrong, by partition and offset."""

    sent: int = 0
    acknowledged: int = 0
    unknown: int = 0
    """Nobody can say whether they are there: such a record may be processed, or not."""
    refused: int = 0
    received: int = 0
    lost: tuple[Offence, ...] = ()
    duplicated: tuple[Offence, ...] = ()
    reordered: tuple[Offence, ...] = ()
    aborted: tuple[Offence, ...] = ()
    foreign: tuple[Offence, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not any(True for _ in self.offences())

    def offences(self) -> Iterator[Offence]:
        """The gravest kinds first."""
        for kind in (self.lost, self.aborted, self.duplicated, self.reordered, self.foreign):
            yield from kind

    def breaks(self, promise: Delivery) -> tuple[Offence, ...]:
        """What an application that relies on the promise must not see."""
        lost = () if promise is Delivery.AT_MOST_ONCE else self.lost
        again = () if promise is Delivery.AT_LEAST_ONCE else self.duplicated
        return (*lost, *self.aborted, *again)


def judge(history: History) -> Verdict:
    """What became of what was sent."""
    outcomes = Counter(record.outcome for record in history.sent)
    sent: dict[Outcome, dict[Identity, list[SentRecord]]] = {
        outcome: defaultdict(list) for outcome in Outcome
    }
    for record in history.sent:
        sent[record.outcome][record.identity].append(record)
    received: dict[Identity, list[ReceivedRecord]] = defaultdict(list)
    for processed in history.received:
        received[processed.identity].append(processed)
    may_be = _allowed(sent, received)
    aborted = _of_transactions(history, {False})
    return Verdict(
        sent=len(history.sent),
        acknowledged=outcomes[Outcome.ACKNOWLEDGED],
        unknown=outcomes[Outcome.UNKNOWN],
        refused=outcomes[Outcome.REFUSED],
        received=len(history.received),
        lost=_ordered(_named(_lost(history, sent[Outcome.ACKNOWLEDGED], received), history)),
        duplicated=_ordered(_duplicated(may_be, received)),
        reordered=_ordered(_reordered(history)),
        aborted=_ordered(_aborted(received, sent[Outcome.REFUSED], may_be, aborted)),
        foreign=_ordered(
            _offence("foreign", record)
            for identity, records in received.items()
            if not may_be[identity] and identity not in sent[Outcome.REFUSED]
            for record in records
        ),
    )


def named_anew(verdict: Verdict, history: History) -> Verdict:
    """The verdict on a history of which, since it was judged, the partitions were read."""
    return replace(verdict, lost=_ordered(_named(verdict.lost, history)))


def _allowed(
    sent: Mapping[Outcome, Mapping[Identity, list[SentRecord]]], received: Iterable[Identity]
) -> Counter[Identity]:
    """How often each may be processed; one of which nobody knows the partition, in any."""
    allowed: Counter[Identity] = Counter()
    for outcome in (Outcome.ACKNOWLEDGED, Outcome.UNKNOWN):
        for identity, records in sent[outcome].items():
            allowed[identity] += len(records)
    if any(identity[1] == NOWHERE for identity in allowed):
        for identity in received:
            if identity[1] != NOWHERE:
                allowed[identity] += allowed[_anywhere(identity)]
    return allowed


def _of_transactions(history: History, ends: set[bool | None]) -> set[Identity]:
    """Records of transactions that came to one of these ends."""
    return {
        record.identity
        for record in history.sent
        if record.transaction is not None and history.ended.get(record.transaction) in ends
    }


def _ordered(offences: Iterable[Offence]) -> tuple[Offence, ...]:
    return tuple(
        sorted(offences, key=lambda each: (*each[1:4], by_number(each.key), each.consumer))
    )


def by_number(key: str | None) -> tuple[int, str]:
    """For sorting: keys that are numbers by their size, before all others."""
    if key is None:
        return -1, ""
    return (int(key), "") if key.isascii() and key.isdigit() else (1 << 63, key)


def _offence(name: str, record: SentRecord | ReceivedRecord) -> Offence:
    return Offence(
        name,
        record.topic,
        record.partition,
        record.offset,
        record.key,
        record.value,
        getattr(record, "consumer", ""),
    )


def _lost(
    history: History,
    acknowledged: Mapping[Identity, list[SentRecord]],
    received: Mapping[Identity, list[ReceivedRecord]],
) -> Iterator[Offence]:
    """A record whose transaction is not known to be committed is not lost: nobody had to see it."""
    not_promised = _of_transactions(history, {False, None})
    anywhere: Counter[Identity] = Counter()
    if any(identity[1] == NOWHERE for identity in acknowledged):
        anywhere.update(_anywhere(record.identity) for record in history.received)
    for identity, records in acknowledged.items():
        if identity in not_promised:
            continue
        seen = anywhere[identity] if identity[1] == NOWHERE else len(received.get(identity, ()))
        missing = len(records) - seen
        for record in records[len(records) - missing :] if missing > 0 else ():
            yield _offence("lost", record)


def _named(lost: Iterable[Offence], history: History) -> Iterator[Offence]:
    """What kind of loss it was, and where the record is if it is somewhere."""
    stored = _places(history.stored) if history.stored is not None else None
    last_stored = _last(history.stored or ())
    last_seen = _last(history.received)
    for record in lost:
        place = record.topic, record.partition
        if stored is None:
            yield record._replace(name=_unread(record.offset, last_seen.get(place, -1)))
        elif (there := stored.get((*place, record.key, record.value))) is not None:
            later = last_seen.get((there.topic, there.partition), -1) > there.offset
            name = "poll skip" if later else "unseen"
            yield record._replace(name=name, partition=there.partition, offset=there.offset)
        else:
            yield record._replace(name=_unread(record.offset, last_stored.get(place, -1)))


def _unread(offset: int, last: int) -> str:
    """Of a record that nobody found: whether anything after it was."""
    if offset < 0:
        return "lost"
    return "lost write" if last > offset else "unseen"


def _places(records: Iterable[StoredRecord]) -> dict[Identity, StoredRecord]:
    """Where each record is, also for those of which nobody knows the partition."""
    found: dict[Identity, StoredRecord] = {}
    for record in records:
        found[record.identity] = found[_anywhere(record.identity)] = record
    return found


def _anywhere(identity: Identity) -> Identity:
    """The same record as one of which nobody knows the partition."""
    topic, _, key, value = identity
    return topic, NOWHERE, key, value


def _last(records: Iterable[StoredRecord | ReceivedRecord]) -> dict[Place, int]:
    last: dict[Place, int] = {}
    for record in records:
        place = record.topic, record.partition
        last[place] = max(last.get(place, -1), record.offset)
    return last


def _duplicated(
    may_be: Mapping[Identity, int], received: Mapping[Identity, list[ReceivedRecord]]
) -> Iterator[Offence]:
    for identity, records in received.items():
        allowed = may_be[identity]
        if not 0 < allowed < len(records):
            continue
        seen: set[tuple[int, int]] = set()
        again: list[Offence] = []
        for record in records:
            place = record.partition, record.offset
            name = "non-monotonic poll" if record.offset >= 0 and place in seen else "duplicate"
            again.append(_offence(name, record))
            seen.add(place)
        yield from again[allowed:]


def _aborted(
    received: Mapping[Identity, list[ReceivedRecord]],
    refused: Mapping[Identity, list[SentRecord]],
    may_be: Mapping[Identity, int],
    aborted: set[Identity],
) -> Iterator[Offence]:
    for identity, records in received.items():
        is_refused = identity in refused and not may_be[identity]
        for record in records:
            if is_refused or (record.committed_only and identity in aborted):
                yield _offence("aborted read", record)


def _reordered(history: History) -> Iterator[Offence]:
    """First receipts only; by their offsets where these are known, else as each consumer had them.

    A record that was sent twice has the place of the first time.
    """
    order: dict[Identity, tuple[str, int]] = {}
    for number, sent in enumerate(history.sent):
        order.setdefault(sent.identity, (sent.producer, number))
    first: dict[Identity, ReceivedRecord] = {}
    for record in history.received:
        first.setdefault(record.identity, record)
    lanes: dict[tuple[str, str, int, str], list[tuple[int, ReceivedRecord]]] = defaultdict(list)
    for identity, record in first.items():
        if identity not in order:
            identity = _anywhere(identity)  # noqa: PLW2901 (the same record)
        if identity in order:
            producer, number = order[identity]
            reader = record.consumer if record.offset < 0 else ""
            lanes[producer, record.topic, record.partition, reader].append((number, record))
    for lane in lanes.values():
        if all(record.offset >= 0 for _, record in lane):
            lane.sort(key=lambda each: each[1].offset)
        latest = -1
        for number, record in lane:
            if number < latest:
                yield _offence("non-monotonic send", record)
            latest = max(latest, number)

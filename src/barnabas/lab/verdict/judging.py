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
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
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


class _Fate(enum.Enum):
    """What may become of a record that was sent."""

    PROMISED = enum.auto()
    """Acknowledged, and in a committed transaction if in one: it must be processed."""
    POSSIBLE = enum.auto()
    """It may be processed, or not."""
    ABORTED = enum.auto()
    """The same, but not by those who were promised not to see it."""
    REFUSED = enum.auto()


ALLOWED = (_Fate.PROMISED, _Fate.POSSIBLE, _Fate.ABORTED)

_Sent = Mapping[_Fate, Mapping["Identity", "list[SentRecord]"]]
_Received = Mapping["Identity", "list[ReceivedRecord]"]


def judge(history: History) -> Verdict:
    """What became of what was sent."""
    outcomes = Counter(record.outcome for record in history.sent)
    rest, read_where_aborted = _told_apart(history)
    sent: dict[_Fate, dict[Identity, list[SentRecord]]] = {
        fate: defaultdict(list) for fate in _Fate
    }
    for record in rest.sent:
        sent[_fate(record, history.ended)][record.identity].append(record)
    received: dict[Identity, list[ReceivedRecord]] = defaultdict(list)
    for processed in rest.received:
        received[processed.identity].append(processed)
    may_be = _counted(sent, ALLOWED)
    again = (_again(records)[1:] for records in read_where_aborted)
    hidden = (each for records in read_where_aborted for each in records if each.committed_only)
    return Verdict(
        sent=len(history.sent),
        acknowledged=outcomes[Outcome.ACKNOWLEDGED],
        unknown=outcomes[Outcome.UNKNOWN],
        refused=outcomes[Outcome.REFUSED],
        received=len(history.received),
        lost=_ordered(_named(_lost(sent[_Fate.PROMISED], received), history)),
        duplicated=_ordered(chain(_duplicated(may_be, received), *again)),
        reordered=_ordered(_reordered(rest)),
        aborted=_ordered(
            _offence("aborted read", record)
            for record in chain(hidden, _aborted(sent, may_be, received))
        ),
        foreign=_ordered(
            _offence("foreign", record)
            for identity, records in received.items()
            if not _is_in(may_be, identity) and not _is_in(sent[_Fate.REFUSED], identity)
            for record in records
        ),
    )


def named_anew(verdict: Verdict, history: History) -> Verdict:
    """The verdict on a history of which, since it was judged, the partitions were read."""
    return replace(verdict, lost=_ordered(_named(verdict.lost, history)))


def _told_apart(history: History) -> tuple[History, list[list[ReceivedRecord]]]:
    """The history without records that are known, by their offset, to be of aborted transactions;
    and how those were read, place by place.

    An application sends the same record again after an abort: only the offset tells the two apart.
    """
    if False not in history.ended.values():
        return history, []
    without_offset = {record.identity for record in history.received if record.offset < 0}
    there: dict[tuple[Identity, int], list[ReceivedRecord]] = {
        (record.identity, record.offset): []
        for record in history.sent
        if record.offset >= 0
        and record.identity not in without_offset
        and _fate(record, history.ended) is _Fate.ABORTED
    }
    received: list[ReceivedRecord] = []
    for processed in history.received:
        there.get((processed.identity, processed.offset), received).append(processed)
    sent = [record for record in history.sent if (record.identity, record.offset) not in there]
    return replace(history, sent=sent, received=received), list(there.values())


def _fate(record: SentRecord, ended: Mapping[str, bool | None]) -> _Fate:
    if record.outcome is Outcome.REFUSED:
        return _Fate.REFUSED
    committed = True if record.transaction is None else ended.get(record.transaction)
    if committed is False:
        return _Fate.ABORTED
    is_promised = committed and record.outcome is Outcome.ACKNOWLEDGED
    return _Fate.PROMISED if is_promised else _Fate.POSSIBLE


def _counted(sent: _Sent, fates: Iterable[_Fate]) -> Counter[Identity]:
    counts: Counter[Identity] = Counter()
    for fate in fates:
        for identity, records in sent[fate].items():
            counts[identity] += len(records)
    return counts


def _is_in(known: Container[Identity], identity: Identity) -> bool:
    """Also as one of which nobody said the partition."""
    return identity in known or _anywhere(identity) in known


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


def _lost(promised: Mapping[Identity, list[SentRecord]], received: _Received) -> Iterator[Offence]:
    """What was read in a partition stands for those that were sent there first, and only what is
    more for those of which nobody said the partition.
    """
    seen = Counter({identity: len(records) for identity, records in received.items()})
    if any(identity[1] == NOWHERE for identity in promised):
        for identity, count in list(seen.items()):
            if identity[1] != NOWHERE:
                spare = count - len(promised.get(identity, ()))
                seen[_anywhere(identity)] += max(0, spare)
    for identity, records in promised.items():
        for record in records[seen[identity] :]:
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


def _duplicated(may_be: Counter[Identity], received: _Received) -> Iterator[Offence]:
    """All partitions share what a record of which nobody said the partition allows."""
    left = Counter({key: count for key, count in may_be.items() if key[1] == NOWHERE})
    for identity, records in received.items():
        if not _is_in(may_be, identity):
            continue
        anywhere = _anywhere(identity)
        here = may_be[identity] if identity != anywhere else 0
        if len(records) > here:
            shared = min(left[anywhere], len(records) - here)
            left[anywhere] -= shared
            yield from _again(records)[here + shared :]


def _again(records: Iterable[ReceivedRecord]) -> list[Offence]:
    """Receipts of equal records, as they are named where they are too many."""
    seen: set[tuple[int, int]] = set()
    again: list[Offence] = []
    for record in records:
        place = record.partition, record.offset
        name = "non-monotonic poll" if record.offset >= 0 and place in seen else "duplicate"
        again.append(_offence(name, record))
        seen.add(place)
    return again


def _aborted(
    sent: _Sent, may_be: Container[Identity], received: _Received
) -> Iterator[ReceivedRecord]:
    """Of those that offsets do not tell: who was promised not to see it has read it only if it was
    read more often than others like it were sent.
    """
    visible = _counted(sent, (_Fate.PROMISED, _Fate.POSSIBLE))
    for identity, records in received.items():
        if _is_in(sent[_Fate.ABORTED], identity):
            hidden_from = [record for record in records if record.committed_only]
            yield from hidden_from[visible[identity] + visible[_anywhere(identity)] :]
        elif not _is_in(may_be, identity) and _is_in(sent[_Fate.REFUSED], identity):
            yield from records


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

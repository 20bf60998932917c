"""Which promises a history breaks.  Pure: a history in, violations out.

The names are those of Jepsen's Kafka workload, so that they can be looked up:

| Name | The history shows |
|---|---|
| lost write | an acknowledged record is not in its partition, though later ones are |
| unseen | an acknowledged record is not in its partition, and nothing after it is |
| duplicate | a record is there more than once |
| aborted read | a record was read that was refused, or whose transaction was aborted |
| inconsistent offsets | two observers saw different records at one offset |
| non-monotonic poll | a consumer was given an offset again, or an earlier one |
| non-monotonic send | a producer's records are not in the order in which it sent them |
| poll skip | a consumer was led past a record that was there |
| torn transaction | some records of a transaction are visible, and others not |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.lab.sim.history import Outcome

if TYPE_CHECKING:
    from barnabas.lab.sim.history import History, Partition, Polled


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken."""

    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


def check(history: History) -> list[Violation]:
    """All violations, the gravest kinds first."""
    return [
        *_lost_and_unseen(history),
        *_duplicates(history),
        *_aborted_reads(history),
        *_torn_transactions(history),
        *_inconsistent_offsets(history),
        *_polls(history),
        *_sends(history),
    ]


def _aborted(history: History) -> set[str]:
    return {each.transaction for each in history.ended if each.committed is False}


def _committed(history: History) -> set[str]:
    return {each.transaction for each in history.ended if each.committed}


def _lost_and_unseen(history: History) -> Iterator[Violation]:
    committed = _committed(history)
    in_log = {partition: {value for _, value in log} for partition, log in history.final.items()}
    for sent in history.sent:
        if sent.outcome is not Outcome.ACKNOWLEDGED:
            continue
        log = history.final.get(sent.partition, [])
        there = in_log.get(sent.partition, set())
        missing = [value for value in sent.values if value not in there]
        if missing:
            last = log[-1][0] if log else -1
            name = "lost write" if sent.offset < last else "unseen"
            yield Violation(
                name,
                f"{sent.partition} {missing}, acknowledged at {sent.offset}, log ends at {last}",
            )
        elif sent.transaction in committed:
            visible = {value for _, value in history.final_committed.get(sent.partition, [])}
            hidden = [value for value in sent.values if value not in visible]
            if hidden:
                yield Violation(
                    "lost write", f"{sent.partition} {hidden}, of a committed transaction"
                )


def _duplicates(history: History) -> Iterator[Violation]:
    places: dict[int, list[tuple[Partition, int]]] = defaultdict(list)
    for partition, log in history.final.items():
        for offset, value in log:
            places[value].append((partition, offset))
    for value, found in places.items():
        if len(found) > 1:
            yield Violation("duplicate", f"{value} at {found}")


def _aborted_reads(history: History) -> Iterator[Violation]:
    aborted = _aborted(history)
    bad = {
        value for sent in history.sent if sent.outcome is Outcome.REFUSED for value in sent.values
    }
    hidden = {
        value for sent in history.sent if sent.transaction in aborted for value in sent.values
    }
    for polled in history.polled:
        for offset, value in polled.records:
            if value in bad or (polled.committed_only and value in hidden):
                yield Violation(
                    "aborted read", f"{polled.consumer} {polled.partition} {value} at {offset}"
                )
    for partition, log in history.final_committed.items():
        for offset, value in log:
            if value in bad or value in hidden:
                yield Violation("aborted read", f"{partition} {value} at {offset} in the end")


def _torn_transactions(history: History) -> Iterator[Violation]:
    visible = {value for log in history.final_committed.values() for _, value in log}
    parts: dict[str, list[int]] = defaultdict(list)
    for sent in history.sent:
        if sent.transaction is not None and sent.outcome is Outcome.ACKNOWLEDGED:
            parts[sent.transaction] += sent.values
    for transaction, values in parts.items():
        seen = [value for value in values if value in visible]
        if seen and len(seen) < len(values):
            yield Violation("torn transaction", f"{transaction}: {len(seen)} of {len(values)}")


def _inconsistent_offsets(history: History) -> Iterator[Violation]:
    seen: dict[tuple[Partition, int], int] = {}
    told: list[tuple[Partition, int, int, str]] = []
    for partition, log in history.final.items():
        told += [(partition, offset, value, "the end") for offset, value in log]
    for sent in history.sent:
        if sent.outcome is Outcome.ACKNOWLEDGED and sent.offset >= 0:
            told += [
                (sent.partition, sent.offset + i, value, sent.producer)
                for i, value in enumerate(sent.values)
            ]
    for polled in history.polled:
        told += [(polled.partition, *record, polled.consumer) for record in polled.records]
    for partition, offset, value, who in told:
        first = seen.setdefault((partition, offset), value)
        if first != value:
            yield Violation(
                "inconsistent offsets", f"{partition} {offset}: {first}, but {value} to {who}"
            )


def _polls(history: History) -> Iterator[Violation]:
    by_reader: dict[tuple[str, Partition], list[Polled]] = defaultdict(list)
    for polled in history.polled:
        by_reader[polled.consumer, polled.partition].append(polled)
    for (consumer, partition), polls in by_reader.items():
        truth = (history.final_committed if polls[0].committed_only else history.final).get(
            partition, []
        )
        last = -1
        seen: set[int] = set()
        for polled in polls:
            for offset, _ in polled.records:
                if offset <= last:
                    yield Violation(
                        "non-monotonic poll", f"{consumer} {partition}: {offset} after {last}"
                    )
                last = max(last, offset)
                seen.add(offset)
        start = polls[0].position
        skipped = [offset for offset, _ in truth if start <= offset <= last and offset not in seen]
        if skipped:
            yield Violation("poll skip", f"{consumer} {partition}: {skipped} before {last}")


def _sends(history: History) -> Iterator[Violation]:
    """Within a producer and partition, what is sent later stands later."""
    places = {
        value: (partition, offset)
        for partition, log in history.final.items()
        for offset, value in log
    }
    counted = Counter(value for log in history.final.values() for _, value in log)
    by_sender: dict[tuple[str, Partition], list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for sent in history.sent:
        by_sender[sent.producer, sent.partition].append((sent.number, sent.values))
    for (producer, partition), batches in by_sender.items():
        last = -1
        for _, values in sorted(batches):
            for value in values:
                if counted[value] != 1:
                    continue  # lost or duplicate: said above
                offset = places[value][1]
                if offset < last:
                    yield Violation(
                        "non-monotonic send",
                        f"{producer} {partition}: {value} at {offset}, before {last}",
                    )
                last = max(last, offset)

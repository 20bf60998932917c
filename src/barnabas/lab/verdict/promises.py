"""What the cluster itself promised and did not keep, found by the simulator's own checker.

The verdict compares applications; this compares the partitions with what was acknowledged, so it
needs a history whose partitions were read in the end.  One checker judges both worlds.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from barnabas.lab.sim import history as sim
from barnabas.lab.sim.checker import Violation, check

if TYPE_CHECKING:
    from barnabas.lab.verdict.records import History, Identity, StoredRecord


def broken_promises(history: History) -> list[Violation]:
    """In the order of the checker, the gravest kinds first.

    `ValueError` if nobody read the partitions, or if two records that were sent cannot be told
    apart: then nothing can be said.
    """
    if history.stored is None:
        raise ValueError("the partitions were not read in the end")
    numbers: dict[Identity, int] = {}
    for sent in history.sent:
        if sent.identity in numbers:
            raise ValueError(f"{sent.identity} was sent twice")
        numbers[sent.identity] = len(numbers)
    committed = history.stored if history.stored_committed is None else history.stored_committed
    return check(
        sim.History(
            sent=[
                sim.Sent(
                    producer=sent.producer,
                    number=number,
                    partition=(sent.topic, sent.partition),
                    values=(numbers[sent.identity],),
                    outcome=sent.outcome,
                    offset=sent.offset,
                    transaction=sent.transaction,
                )
                for number, sent in enumerate(history.sent)
            ],
            polled=_polls(history, numbers),
            ended=[
                sim.Ended(transaction=name, committed=committed)
                for name, committed in history.ended.items()
            ],
            final=_logs(history.stored, numbers),
            final_committed=_logs(committed, numbers),
        )
    )


def _number(numbers: dict[Identity, int], identity: Identity) -> int:
    """Records that nobody sent get numbers of their own, too."""
    return numbers.setdefault(identity, len(numbers))


def _logs(
    records: Iterable[StoredRecord], numbers: dict[Identity, int]
) -> dict[sim.Partition, list[tuple[int, int]]]:
    logs: dict[sim.Partition, list[tuple[int, int]]] = {}
    for record in records:
        log = logs.setdefault((record.topic, record.partition), [])
        log.append((record.offset, _number(numbers, record.identity)))
    return logs


def _polls(history: History, numbers: dict[Identity, int]) -> list[sim.Polled]:
    """One for each run of records that a consumer had of one partition."""
    known = (record for record in history.received if record.offset >= 0)
    polls = []
    for (consumer, place, committed_only), run in groupby(
        known, key=lambda each: (each.consumer, (each.topic, each.partition), each.committed_only)
    ):
        records = tuple((each.offset, _number(numbers, each.identity)) for each in run)
        polls.append(
            sim.Polled(
                consumer=consumer,
                partition=place,
                position=records[0][0],
                records=records,
                committed_only=committed_only,
            )
        )
    return polls

"""What must be true of the topics when all workers of `exactly_once.py` are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import IsolationLevel, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from eventually import eventually
from quick_clients import connected, read_all

from barnabas.protocol.messages.list_transactions import ListTransactionsRequest

INPUT, OUTPUT, GROUP = "given", "made", "workers"
PARTITIONS = 3
KEYS = 100
UNFINISHED = ["Ongoing", "PrepareCommit", "PrepareAbort"]
PATIENCE_S = 60
SHOWN = 20
"""Offending records in a message."""


def given(number: int) -> bytes:
    """The value of an input record."""
    return b"record-%d" % number


def made(number: int) -> bytes:
    """What a worker makes of it."""
    return given(number).upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How many records each kind of reader saw."""

    committed: int
    uncommitted: int

    def text(self, records: int) -> str:
        return (
            f"read_committed sees {self.committed} of {records} records, each once and in order; "
            f"read_uncommitted sees {self.uncommitted - self.committed} more, of aborted "
            "transactions; no transaction is open, all that is written is stable"
        )


def look(bootstrap: str, records: int) -> tuple[Seen, list[str]]:
    """Wait until no transaction is open, read everything, and say what is wrong with it."""
    eventually(
        lambda: not unfinished(bootstrap), timeout_s=PATIENCE_S, what="no transaction is open"
    )
    faults = not_stable(bootstrap)
    committed = read(bootstrap, "read_committed")
    uncommitted = read(bootstrap, "read_uncommitted")
    faults += wrong(committed, records)
    lacking = Counter(values(committed)) - Counter(values(uncommitted))
    if lacking:
        faults.append(f"read_uncommitted does not see {list(lacking)[:SHOWN]}")
    return Seen(committed=len(committed), uncommitted=len(uncommitted)), faults


def unfinished(bootstrap: str) -> list[tuple[str, str]]:
    """Transactions that are neither committed nor aborted: id and state."""
    with connected(bootstrap) as client:
        answer = client.call(ListTransactionsRequest(state_filters=UNFINISHED), 1)
    if answer.error_code:
        return [("the broker", f"error {answer.error_code}")]
    return [(t.transactional_id, t.transaction_state) for t in answer.transaction_states]


def not_stable(bootstrap: str) -> list[str]:
    """Partitions whose last stable offset is not their end; also of the groups' positions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = admin.list_topics(timeout=PATIENCE_S).topics
    asked = {
        TopicPartition(name, partition): OffsetSpec.latest()
        for name in (INPUT, OUTPUT, "__consumer_offsets")
        for partition in topics[name].partitions
    }
    stable, high = (
        {
            where: found.result(PATIENCE_S).offset
            for where, found in admin.list_offsets(asked, isolation_level=level).items()
        }
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    )
    return [
        f"{where.topic}-{where.partition}: stable to {stable[where]}, ends at {high[where]}"
        for where in asked
        if stable[where] != high[where]
    ]


def read(bootstrap: str, isolation: str) -> list[Message]:
    return [
        message
        for partition in range(PARTITIONS)
        for message in read_all(bootstrap, OUTPUT, partition=partition, isolation_level=isolation)
    ]


def values(messages: Iterable[Message]) -> Iterable[bytes | None]:
    return (message.value() for message in messages)


def wrong(messages: list[Message], records: int) -> list[str]:
    """What is missing, there twice, strange, or before one that should be before it."""
    expected = {made(number): number for number in range(records)}
    times = Counter(values(messages))
    faults = []
    if missing := [value for value in expected if value not in times]:
        faults.append(f"{len(missing)} are missing: {missing[:SHOWN]}")
    if twice := [value for value, count in times.items() if count > 1]:
        where = [place(m) for m in messages if m.value() in twice[:SHOWN]]
        faults.append(f"{len(twice)} are there more than once: {where}")
    if strange := [place(m) for m in messages if m.value() not in expected]:
        faults.append(f"{len(strange)} are of no input: {strange[:SHOWN]}")
    last: dict[bytes | None, int] = {}
    late = []
    for message in messages:
        number = expected.get(message.value() or b"", -1)
        if number < last.get(message.key(), -1):
            late.append(place(message))
        last[message.key()] = number
    if late:
        faults.append(f"{len(late)} are later than their successors: {late[:SHOWN]}")
    return faults


def place(message: Message) -> str:
    return f"{message.value()!r} at {message.partition()}@{message.offset()}"

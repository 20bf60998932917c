"""What applications sent and what they processed, record by record.

Nothing here knows a client library: whoever runs one says what it did.  A record is known by its
topic, partition, key and value, so two that were sent should differ in one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.lab.sim.history import Outcome

__all__ = [
    "NOWHERE",
    "History",
    "Identity",
    "Outcome",
    "ReceivedRecord",
    "SentRecord",
    "StoredRecord",
]

NOWHERE = -1
"""The partition of a record of which nobody said where it went."""
Identity = tuple[str, int, str | None, str | None]
"""Topic, partition, key, value."""


class SentRecord(NamedTuple):
    """One record that an application gave to its producer, and what it was told of it."""

    topic: str
    partition: int
    """`NOWHERE` if nobody said."""
    key: str | None
    value: str | None = None
    offset: int = -1
    """Where it was acknowledged; -1 if nobody said, as with acks=0."""
    outcome: Outcome = Outcome.ACKNOWLEDGED
    producer: str = ""
    transaction: str | None = None

    @property
    def identity(self) -> Identity:
        return self.topic, self.partition, self.key, self.value


class ReceivedRecord(NamedTuple):
    """One record that an application processed: not what its client fetched, but what it used."""

    topic: str
    partition: int
    key: str | None
    value: str | None = None
    offset: int = -1
    consumer: str = ""
    committed_only: bool = False
    """Whether this consumer was promised not to see records of aborted transactions."""

    @property
    def identity(self) -> Identity:
        return self.topic, self.partition, self.key, self.value


class StoredRecord(NamedTuple):
    """One record of a partition as it is in the end, read from its start."""

    topic: str
    partition: int
    key: str | None
    value: str | None
    offset: int

    @property
    def identity(self) -> Identity:
        return self.topic, self.partition, self.key, self.value


@dataclass(slots=True)
class History:
    """All of it.  `sent` is in the order in which each producer sent, `received` in that in which
    each consumer processed; how those of two clients interleave does not matter.
    """

    sent: list[SentRecord] = field(default_factory=list)
    received: list[ReceivedRecord] = field(default_factory=list)
    ended: dict[str, bool | None] = field(default_factory=dict)
    """Whether a transaction was committed; None if nobody knows."""
    stored: list[StoredRecord] | None = None
    """What the partitions hold in the end, aborted records too, if that was read."""
    stored_committed: list[StoredRecord] | None = None
    """The same without records of aborted transactions."""

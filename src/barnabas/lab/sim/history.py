"""What clients did and saw, in the order in which they learned of it.

Every value that is produced is a number that nobody else produces, so that a record is known
wherever it turns up.  The checker needs nothing but this.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

Partition = tuple[str, int]


class Outcome(enum.Enum):
    """What a producer knows of what it sent."""

    ACKNOWLEDGED = "acknowledged"
    UNKNOWN = "unknown"
    """No answer, or one that leaves open whether the records are there."""
    REFUSED = "refused"
    """It is certain that the records are not there, and never will be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One batch, and how that ended."""

    producer: str
    number: int
    """In the order in which this producer sent to this partition."""
    partition: Partition
    values: tuple[int, ...]
    outcome: Outcome
    offset: int = -1
    """Of the first record, where it was acknowledged with one."""
    transaction: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The records that one fetch gave a consumer, after it left out what a client leaves out."""

    consumer: str
    partition: Partition
    position: int
    """Where the consumer read from."""
    records: tuple[tuple[int, int], ...]
    """(offset, value)"""
    committed_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A transaction's end: `committed` is None if nobody knows."""

    transaction: str
    committed: bool | None


@dataclass(slots=True)
class History:
    """All of it.  `final` is the content of each partition at the end, read anew from its start."""

    sent: list[Sent] = field(default_factory=list)
    polled: list[Polled] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    final: dict[Partition, list[tuple[int, int]]] = field(default_factory=dict)
    final_committed: dict[Partition, list[tuple[int, int]]] = field(default_factory=dict)

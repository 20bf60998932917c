"""What happened in a run, by time: looks at the cluster, and marks between them.  Pure data.

A `Look` is what admin calls and the clients' journals said at one moment; a `Mark` is something
that was done or noticed.  Times are seconds since the run began.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


class Kind(enum.Enum):
    """What a mark is about; views give each a sign and a colour."""

    STEP = "step"
    FAULT = "fault"
    RECOVERY = "recovery"
    SIGHT = "sight"
    VERDICT = "verdict"


@dataclass(frozen=True, slots=True)
class Mark:
    at: float
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLook:
    """One partition at one moment."""

    leader: int | None
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    ends: Mapping[int, int] = field(default_factory=dict)
    """Where the log of each replica ended, as far as that could be asked."""
    acked: int = 0
    received: int = 0

    @property
    def replicated(self) -> int | None:
        """Up to where every replica in sync has it; None if not all of them could be asked."""
        ends = [self.ends.get(each) for each in self.isr]
        known = [end for end in ends if end is not None]
        return min(known) if known and len(known) == len(ends) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything at one moment."""

    at: float
    brokers: Mapping[int, str] = field(default_factory=dict)
    """`up`, `down`, `frozen`, or `away`: it runs, and nobody is told of it."""
    partitions: Mapping[int, PartitionLook] = field(default_factory=dict)
    sent: int = 0
    acked: int = 0
    failed: int = 0
    received: int = 0


@dataclass(slots=True)
class Timeline:
    """All looks and marks of a run, each in the order of time."""

    looks: list[Look] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def end(self) -> float:
        """The time of the last thing that is known."""
        return max(
            self.looks[-1].at if self.looks else 0.0, self.marks[-1].at if self.marks else 0.0
        )

    @property
    def last(self) -> Look:
        return self.looks[-1] if self.looks else Look(at=0.0)

    def partitions(self) -> list[int]:
        """Every partition that was ever seen."""
        return sorted({index for look in self.looks for index in look.partitions})

    def brokers(self) -> list[int]:
        return sorted({number for look in self.looks for number in look.brokers})

    def at(self, moment: float) -> Look | None:
        """The last look that is not later; None before the first."""
        found = None
        for look in self.looks:
            if look.at > moment:
                break
            found = look
        return found


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in which something stayed as it was."""

    begin: float
    end: float
    value: object


def spans(timeline: Timeline, values: Sequence[object]) -> Iterator[Span]:
    """Runs of equal values, one value a look; the last one lasts to the end."""
    looks = timeline.looks
    begin = 0
    for index in range(1, len(looks) + 1):
        if index < len(looks) and values[index] == values[begin]:
            continue
        end = looks[index].at if index < len(looks) else timeline.end
        yield Span(looks[begin].at, end, values[begin])
        begin = index

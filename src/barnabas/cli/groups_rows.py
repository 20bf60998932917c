"""What `barnabas groups lag` shows: how far groups are behind, and how fast that changes.  Pure.

Two looks at the same groups give rates: of reading, by the offsets that they committed, and of
writing, by the ends of their partitions.  Consumers commit every few seconds, so that a rate is
taken over a window of many looks rather than from one to the next.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int]
"""A topic and the number of a partition."""

MISSING = "-"
TOTAL = "(total)"
WINDOW_S = 30.0
"""Six times as long as consumers usually wait before they commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a group is in one partition, and where that ends; None where it is not known."""

    committed: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(self.end - self.committed, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLook:
    """One group, as it was found."""

    group_id: str
    state: str
    members: int
    positions: Mapping[Place, Position]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All groups at one moment, by a clock that never goes back."""

    time_s: float
    groups: Sequence[GroupLook]

    def positions(self, group_id: str) -> Mapping[Place, Position]:
        return next((each.positions for each in self.groups if each.group_id == group_id), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Records a second."""

    read: float
    written: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRow:
    """A group in one topic, or in all of its topics (`topic` is None)."""

    group_id: str
    state: str
    members: int
    topic: str | None
    partitions: int
    lag: int | None
    pace: Pace | None

    @property
    def catch_up_s(self) -> float | None:
        """Until nothing is left to read, should all go on as it does; infinite if that is never,
        None if nobody knows.
        """
        if self.lag == 0:
            return 0.0
        if self.lag is None or self.pace is None:
            return None
        gained = self.pace.read - self.pace.written
        return self.lag / gained if gained > 0 else math.inf


@dataclass(slots=True)
class History:
    """The looks of the last while, the oldest first."""

    window_s: float = WINDOW_S
    looks: deque[Look] = field(default_factory=deque)

    def add(self, look: Look) -> Look | None:
        """Keeps a look; the one to measure it against, None if it is the first."""
        while len(self.looks) > 1 and self.looks[1].time_s <= look.time_s - self.window_s:
            self.looks.popleft()
        before = self.looks[0] if self.looks else None
        self.looks.append(look)
        return before


def lag_rows(look: Look, before: Look | None) -> list[LagRow]:
    """A row for each group, those furthest behind first, each followed by a row for each topic."""
    rows: list[LagRow] = []
    totals = [_row(group, None, group.positions, look, before) for group in look.groups]
    by_id = {group.group_id: group for group in look.groups}
    for total in sorted(totals, key=lambda row: (-(row.lag or 0), row.group_id)):
        group = by_id[total.group_id]
        rows.append(total)
        topics: dict[str, dict[Place, Position]] = {}
        for place, position in sorted(group.positions.items()):
            topics.setdefault(place[0], {})[place] = position
        rows += [_row(group, topic, places, look, before) for topic, places in topics.items()]
    return rows


def _row(
    group: GroupLook,
    topic: str | None,
    positions: Mapping[Place, Position],
    look: Look,
    before: Look | None,
) -> LagRow:
    lags = [position.lag for position in positions.values() if position.lag is not None]
    return LagRow(
        group_id=group.group_id,
        state=group.state,
        members=group.members,
        topic=topic,
        partitions=len(positions),
        lag=sum(lags) if lags or not positions else None,
        pace=None if before is None else _pace(group.group_id, positions, look, before),
    )


def _pace(
    group_id: str, positions: Mapping[Place, Position], look: Look, before: Look
) -> Pace | None:
    """Over partitions that were known both times; offsets that were set back do not count."""
    seconds = look.time_s - before.time_s
    if seconds <= 0:
        return None
    earlier = before.positions(group_id)
    read = written = 0
    for place, position in positions.items():
        past = earlier.get(place)
        if past is None:
            continue
        read += _grown(past.committed, position.committed)
        written += _grown(past.end, position.end)
    return Pace(read=read / seconds, written=written / seconds)


def _grown(past: int | None, now: int | None) -> int:
    return 0 if past is None or now is None else max(now - past, 0)


def lag_lines(rows: Iterable[LagRow]) -> list[str]:
    """A table.  A group that reads one topic has one line; rates are left out if none is known."""
    shown = list(_without_needless(rows))
    with_pace = any(row.pace is not None for row in shown)
    heading = ["GROUP", "TOPIC", "STATE", "MEMBERS", "PARTITIONS", "LAG"]
    heading += ["READ/S", "WRITTEN/S", "CAUGHT-UP-IN"] if with_pace else []
    cells = [heading, *(_cells(row, with_pace=with_pace) for row in shown)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heading))]
    return ["  ".join(map(_aligned, row, widths, range(len(row)))).rstrip() for row in cells]


WORDS = 3
"""The first columns are words, the others numbers."""


def _aligned(cell: str, width: int, at: int) -> str:
    return f"{cell:<{width}}" if at < WORDS else f"{cell:>{width}}"


def _without_needless(rows: Iterable[LagRow]) -> Iterable[LagRow]:
    listed = list(rows)
    topics: dict[str, int] = {}
    for row in listed:
        if row.topic is not None:
            topics[row.group_id] = topics.get(row.group_id, 0) + 1
    return (row for row in listed if row.topic is not None or topics.get(row.group_id, 0) != 1)


def _cells(row: LagRow, *, with_pace: bool) -> list[str]:
    cells = [
        row.group_id,
        TOTAL if row.topic is None else row.topic,
        row.state,
        str(row.members),
        str(row.partitions),
        MISSING if row.lag is None else str(row.lag),
    ]
    if with_pace:
        pace = row.pace
        cells += [
            MISSING if pace is None else rate_text(pace.read),
            MISSING if pace is None else rate_text(pace.written),
            time_text(row.catch_up_s),
        ]
    return cells


def rate_text(rate: float) -> str:
    return f"{rate:.1f}" if 0 < rate < 10 else f"{rate:.0f}"


def time_text(seconds: float | None) -> str:
    """The two largest units are enough to decide whether to wait."""
    if seconds is None:
        return MISSING
    if math.isinf(seconds):
        return "never"
    whole = math.ceil(seconds)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole} s" if whole else "now"


def lag_document(rows: Iterable[LagRow]) -> list[dict[str, Any]]:
    """For programs: a group is an object with its topics in it; what is never is null."""
    groups: list[dict[str, Any]] = []
    for row in rows:
        numbers = {
            "partitions": row.partitions,
            "lag": row.lag,
            "read_per_second": None if row.pace is None else round(row.pace.read, 3),
            "written_per_second": None if row.pace is None else round(row.pace.written, 3),
            "seconds_to_catch_up": _finite(row.catch_up_s),
        }
        if row.topic is None:
            head = {"group": row.group_id, "state": row.state, "members": row.members}
            groups.append({**head, **numbers, "topics": []})
        else:
            groups[-1]["topics"].append({"topic": row.topic, **numbers})
    return groups


def _finite(seconds: float | None) -> float | None:
    return None if seconds is None or math.isinf(seconds) else round(seconds, 3)

"""Lines for the log that one client could repeat without end: each is said now and then.

A client that asks for what is not answered here is sent away, connects again and asks again.  The
first time is worth a line; so is, later, how often it was so.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection

logger = logging.getLogger("barnabas.net")

EVERY_S = 60.0
LINES_MAX = 100
"""So many different ones in that time: a client that makes up new mistakes must not fill the log
either."""


@dataclass(slots=True)
class _Line:
    said_at: float
    held_back: int = 0


class Repeats:
    """What was said lately.  The time is an argument."""

    def __init__(self, *, every_s: float = EVERY_S, lines_max: int = LINES_MAX) -> None:
        self._every_s = every_s
        self._lines_max = lines_max
        self._lines: dict[Hashable, _Line] = {}
        """The one that was said longest ago is the first."""

    def times(self, line: Hashable, now: float) -> int:
        """How often it was so since it was last said, this time included; 0: do not say it now."""
        known = self._lines.get(line)
        if known is None:
            if not self._has_room(now):
                return 0
            self._lines[line] = _Line(now)
            return 1
        known.held_back += 1
        if now - known.said_at < self._every_s:
            return 0
        times = known.held_back
        del self._lines[line]
        self._lines[line] = _Line(now)
        return times

    def _has_room(self, now: float) -> bool:
        if len(self._lines) < self._lines_max:
            return True
        oldest, entry = next(iter(self._lines.items()))
        if now - entry.said_at < self._every_s:
            return False
        del self._lines[oldest]
        return True


class Complaints:
    """Why connections end that their clients would rather keep."""

    def __init__(self) -> None:
        self._repeats = Repeats()

    def say(self, doing: str, connection: Connection, reason: str) -> None:
        line = (doing, connection.peer_host, reason)
        times = self._repeats.times(line, connection.last_active)
        level = logging.WARNING if times else logging.DEBUG
        often = f", {times} times since this was last said" if times > 1 else ""
        logger.log(level, "%s %s: %s%s", doing, connection, reason, often)

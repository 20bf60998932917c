"""What the group members in Python have in common: their orders, their diary, their end.

A member is a program: its orders are JSON in the first argument, its diary goes to standard output
(a file that all members of a test append to, see `group_ledger`), and it leaves the group when its
standard input ends.  It reads whatever it is given, and commits after every few rounds of reading.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Any

Part = tuple[str, int]

POLL_S = 0.1
ROUND_RECORDS = 100
HEARTBEAT_MS = 500


class Orders:
    """How to be a member, from the command line."""

    def __init__(self, text: str) -> None:
        orders: dict[str, Any] = json.loads(text)
        self.name: str = orders["name"]
        self.bootstrap: str = orders["bootstrap"]
        self.group: str = orders["group"]
        self.topics: list[str] = orders["topics"]
        """With the newer protocol and `^` in front: a pattern."""
        self.protocol: str = orders["protocol"]
        self.assignor: str = orders["assignor"]
        self.instance: str | None = orders["instance"]
        self.session_ms: int = orders["session_ms"]
        self.commit_every: int = orders["commit_every"]
        """Rounds of reading between commits."""


def begin() -> tuple[Orders, Diary, threading.Event]:
    """Orders, an empty diary, and the event that says: leave."""
    orders = Orders(sys.argv[1])
    leave = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        leave.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    return orders, Diary(orders), leave


class Diary:
    """Writes what happens, each line at once, and knows what could be committed."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._unwritten: dict[Part, tuple[int, int]] = {}
        """First offset and the one after the last."""
        self._uncommitted: dict[Part, int] = {}
        self._rounds = 0
        self.generation = -1
        self.held: set[Part] = set()

    def write(self, kind: str, **fields: Any) -> None:
        line = {"m": self._orders.name, "e": kind, **fields}
        os.write(1, json.dumps(line).encode() + b"\n")

    def at(self, generation: int) -> None:
        """The member is in this generation now."""
        if generation != self.generation and generation >= 0:
            self.flush()
            self.generation = generation
            self.write("generation", g=generation)

    def read(self, topic: str, partition: int, offset: int) -> None:
        part = (topic, partition)
        first, after = self._unwritten.get(part, (offset, offset))
        if offset != after:
            self.flush()
            first = offset
        self._unwritten[part] = (first, offset + 1)
        self._uncommitted[part] = offset + 1

    def flush(self) -> None:
        for (topic, partition), (first, after) in self._unwritten.items():
            place = {"g": self.generation, "t": topic, "p": partition}
            self.write("records", **place, **{"from": first, "to": after})
        self._unwritten.clear()

    def is_time_to_commit(self) -> bool:
        """Call at the end of a round of reading."""
        if not self._uncommitted:
            return False
        self._rounds += 1
        return self._rounds % self._orders.commit_every == 0

    def committing(self, parts: Iterable[Part] | None = None) -> dict[Part, int]:
        """What is to be committed now, of these partitions or of all; it may be nothing."""
        self.flush()
        wanted = self.held if parts is None else set(parts)
        offsets = {part: to for part, to in self._uncommitted.items() if part in wanted}
        if offsets:
            self.write("committing", offsets=_rows(offsets))
        return offsets

    def committed(self, offsets: Mapping[Part, int]) -> None:
        self.write("committed", offsets=_rows(offsets))
        for part, offset in offsets.items():
            if self._uncommitted.get(part) == offset:
                del self._uncommitted[part]

    def refused(self, offsets: Mapping[Part, int], error: str) -> None:
        """The broker answered, and did not take them."""
        self.write("refused", offsets=_rows(offsets), error=error)

    def assigned(self, parts: Iterable[Part], generation: int) -> None:
        self.generation = generation
        new = set(parts) - self.held
        self.held |= new
        self.write("assigned", g=generation, parts=sorted(new))

    def revoked(self, parts: Iterable[Part]) -> None:
        self._give_up("revoked", parts)

    def lost(self, parts: Iterable[Part]) -> None:
        self._give_up("lost", parts)

    def thrown_out(self, error: str) -> None:
        """The last words of a member that another took the place of; closing it says no more."""
        self.flush()
        self.write("error", error=error)
        self.write("ended")
        self.held.clear()
        self._uncommitted.clear()

    def _give_up(self, kind: str, parts: Iterable[Part]) -> None:
        self.flush()
        gone = self.held & set(parts)
        self.held -= gone
        for part in gone:
            self._uncommitted.pop(part, None)
        if gone:
            self.write(kind, parts=sorted(gone))


def _rows(offsets: Mapping[Part, int]) -> list[tuple[str, int, int]]:
    return [(topic, partition, to) for (topic, partition), to in sorted(offsets.items())]

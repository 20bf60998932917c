"""What the programs of a run have logged so far, read from their journals as these grow.

The only source of a verdict: a scenario has no other way to say what was sent and received.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.lab.programs.journaling import JournalReader
from barnabas.lab.verdict.journal import Event, What

FRESH_S = 0.05
"""How often the journals are looked at while somebody waits."""


@dataclass(slots=True)
class Counts:
    """Records by what became of them, all programs together; those of partitions by number."""

    sent: int = 0
    acked: Counter[int] = field(default_factory=Counter)
    failed: int = 0
    received: Counter[int] = field(default_factory=Counter)
    processed: Counter[int] = field(default_factory=Counter)
    reached: dict[int, int] = field(default_factory=dict)
    """The offset behind the last record of a partition that somebody has processed."""
    committed: dict[int, int] = field(default_factory=dict)
    commits: int = 0
    held: set[int] = field(default_factory=set)
    """Partitions that a consumer has at present; of one journal, as all of them share a group."""

    def add(self, event: Event) -> None:
        count = len(event.keys)
        match event.event:
            case What.SENT:
                self.sent += count
            case What.ACKED:
                self.acked[event.partition] += count
            case What.FAILED | What.REFUSED:
                self.failed += count
            case What.RECEIVED:
                self.received[event.partition] += count
            case What.PROCESSED:
                self.processed[event.partition] += count
                reached = max(event.offsets, default=-1) + 1
                self.reached[event.partition] = max(self.reached.get(event.partition, 0), reached)
            case What.COMMITTED:
                self.commits += 1
                if event.offsets:
                    self.committed[event.partition] = event.offsets[-1]
            case What.ASSIGNED:
                self.held.add(event.partition)
            case What.REVOKED:
                self.held.discard(event.partition)
            case _:
                pass  # what does not count records


class Book:
    """One program's journal as far as it was read, and what it adds up to."""

    def __init__(self, path: Path, topic: str, *, is_judged: bool) -> None:
        self.events: list[Event] = []
        self.counts = Counts()
        self.is_judged = is_judged
        self._reader = JournalReader(path)
        self._topic = topic

    def read(self) -> list[Event]:
        """What has come since.  Events of other topics are kept, and not counted."""
        new = self._reader.new()
        self.events += new
        counted = [event for event in new if event.topic in ("", self._topic)]
        for event in counted:
            self.counts.add(event)
        return counted


class Ledger:
    """All journals of a run.  Any thread may call."""

    def __init__(self, topic: str) -> None:
        self.counts = Counts()
        self._topic = topic
        self._books: list[Book] = []
        self._lock = threading.Lock()

    def open(self, path: Path, *, is_judged: bool = True) -> Book:
        """Follow a journal.  One that is not judged is for the timeline alone: its client says
        what it did in more detail elsewhere.
        """
        book = Book(path, self._topic, is_judged=is_judged)
        with self._lock:
            self._books.append(book)
        return book

    def refresh(self) -> Counts:
        """Reads what has come; the counts of everybody together."""
        with self._lock:
            for book in self._books:
                for event in book.read():
                    self.counts.add(event)
            return self.counts

    def events(self) -> list[Event]:
        """Everything that is judged, in the order of each journal."""
        self.refresh()
        with self._lock:
            return [event for book in self._books if book.is_judged for event in book.events]

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Whether it came true in time; asked again each time the journals were read."""
        until = time.monotonic() + timeout_s
        while True:
            self.refresh()
            if condition():
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(FRESH_S, left))  # a file that grows tells nobody

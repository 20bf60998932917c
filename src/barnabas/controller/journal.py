"""The metadata journal as the controller sees it: one ordered, durable sequence of records.

A *run* is what one decision wrote: replayed as a whole or not at all.  The port has one
implementation for each place where the journal can live; the embedded one is a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.protocol.message import Message

Done = Callable[[BaseException | None], None]
"""Told how something ended, on the thread that owns the journal; None means well."""

Worker = Callable[[Callable[[], None], Done], None]
"""Runs the first on another thread, then calls the second on the owner's thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Records that belong together, as they were committed."""

    records: tuple[Message, ...]
    last_offset: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of everything below `end_offset`, as records; `epoch` is that of the last of it."""

    records: tuple[Message, ...]
    end_offset: int
    epoch: int


class Journal(Protocol):
    """Owned by one thread.  What `commit` has reported as done survives a crash of the machine."""

    @property
    def epoch(self) -> int:
        """Of the writer.  Each process that opens the journal for writing has a higher one."""

    @property
    def end_offset(self) -> int:
        """The offset after the last committed record."""

    @property
    def is_empty(self) -> bool:
        """Nothing was ever committed."""

    @property
    def snapshot_is_due(self) -> bool:
        """Enough was written since the last snapshot that reading it all again would take long."""

    def snapshot(self) -> Snapshot | None:
        """The newest snapshot, from which a reader starts; None: from the first record."""

    def read(self, offset: int) -> Iterator[Run]:
        """Committed runs with records at or after `offset`, in order."""

    def append(self, records: Sequence[Message], *, now_ms: int) -> int:
        """Queue a run and return the offset that its last record will have."""

    def commit(self, done: Done) -> None:
        """Make every queued run durable, then report.

        After an error none of them was committed, as far as this process can tell, and the next
        append starts at `end_offset` again.
        """

    def write_snapshot(self, records: Sequence[Message], *, now_ms: int, done: Done) -> None:
        """Keep `records` as the state at `end_offset`, and forget the journal before it."""

    def close(self) -> None:
        """Let go.  Nothing that was committed needs it."""

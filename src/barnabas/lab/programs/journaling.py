"""A program's journal on disk: written as things happen, read while it grows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from barnabas.lab.verdict.journal import Event, JournalError, What, decode_all, encode


class Journal:
    """Notes what happens to one program; without a path it notes nothing.

    A line is with the system when `note` returns: it outlives a program that is killed.
    """

    def __init__(self, path: Path | None, who: str) -> None:
        self.who = who
        self._file: TextIO | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8", newline="\n")

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def note(
        self,
        event: What,
        topic: str = "",
        partition: int = -1,
        *,
        offsets: Sequence[int] = (),
        keys: Sequence[str | None] = (),
        detail: str = "",
    ) -> None:
        if self._file is None:
            return
        at = round(time.time(), 6)
        noted = Event(at, self.who, event, topic, partition, tuple(offsets), tuple(keys), detail)
        self._file.write(encode(noted))
        self._file.flush()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class JournalReader:
    """Follows a journal that somebody else writes.  The file may not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0

    def new(self) -> list[Event]:
        """Events that were noted since the last call; a line that is being written waits."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        return list(decode_all(whole.decode()))


def read_journals(paths: Iterable[Path]) -> list[Event]:
    """All events of several journals, in order of their time."""
    events: list[Event] = []
    for path in paths:
        try:
            events += JournalReader(path).new()
        except UnicodeDecodeError:
            raise JournalError(f"{path}: not UTF-8") from None
    return sorted(events, key=lambda event: event.t)

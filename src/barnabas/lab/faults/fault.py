"""The handle of something that was broken: how often it struck, and how it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self


class NotPossible(Exception):  # noqa: N818 (says what happened)
    """This cluster cannot be broken in that way, from outside for one; the text says why."""


class Fault:
    """Something that is broken until `lift`.  A context manager; any thread may call.

    `hits` counts what it struck: frames dropped, delayed, repeated or held, connections ended,
    writes refused or slowed down, members expelled, actions done.
    """

    def __init__(self, text: str, lift: Callable[[], None] = lambda: None) -> None:
        self.text = text
        """What it does, in a few words for people."""
        self._lift = lift
        self._changed = threading.Condition()
        self._hits = 0
        self._is_lifted = False
        self._error: Exception | None = None

    def __repr__(self) -> str:
        return f"<Fault: {self.text}, {self._hits} hits{', lifted' if self._is_lifted else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lift()

    @property
    def hits(self) -> int:
        return self._hits

    @property
    def is_lifted(self) -> bool:
        return self._is_lifted

    def lift(self) -> None:
        """All is well again from now on; twice is once.  What was held back goes on its way."""
        with self._changed:
            if self._is_lifted:
                return
            self._is_lifted = True
        self._lift()

    def hit(self, count: int = 1) -> None:
        """It struck; called by whoever carries it out."""
        with self._changed:
            self._hits += count
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """What it was to do could not be done; whoever waits for it is told."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def wait_hits(self, count: int = 1, timeout_s: float = 60.0) -> int:
        """Wait until it has struck so often; how often it has.  TimeoutError if it did not."""
        with self._changed:
            self._changed.wait_for(lambda: self._hits >= count or self._error, timeout_s)
            if self._error is not None:
                raise self._error
            if self._hits < count:
                raise TimeoutError(f"{self.text}: {self._hits} hits in {timeout_s} s, not {count}")
            return self._hits

"""How far long work has got: a bar on a terminal's stderr, and nothing at all anywhere else.

    with Progress("moving", total=len(partitions), unit="partitions") as progress:
        for done, partition in enumerate(partitions):
            progress.at(done)

The bar is one line that is drawn over itself, and gone when the work ends: rows on stdout and lines
on stderr stay as they are without it.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

BETWEEN_S = 0.1
"""Drawing costs time, and nobody reads faster."""
BAR_COLUMNS = 30
CLEAR = "\r\x1b[K"


def bar(
    what: str, *, done: int, total: int | None, unit: str, elapsed_s: float, columns: int
) -> str:
    """One line, not longer than the terminal is wide.  Without a total, counts alone."""
    rate = f", {done / elapsed_s:,.0f}/s" if elapsed_s >= 1 and done else ""
    if total is None:
        return f"{what}: {done:,} {unit}{rate}"[:columns]
    part = min(max(done / total, 0.0), 1.0) if total else 1.0
    filled = int(part * BAR_COLUMNS)
    drawn = "#" * filled + "." * (BAR_COLUMNS - filled)
    left = ""
    if 0 < part < 1 and elapsed_s >= 1:
        left = f", {_duration(elapsed_s / part - elapsed_s)} left"
    counts = f"{done:,}/{total:,} {unit}{rate}{left}"
    with_bar = f"{what} [{drawn}] {part:4.0%} {counts}"
    short = f"{what} {part:.0%} {counts}"
    return (with_bar if len(with_bar) <= columns else short)[:columns]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Progress:
    """Use it as a context: the line is cleared at the end, whatever ended the work.

    `at` may be called for every record: it looks at the clock, and draws ten times a second.
    """

    def __init__(
        self,
        what: str,
        *,
        total: int | None = None,
        unit: str = "records",
        stream: TextIO | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._total = total
        self._unit = unit
        self._stream = sys.stderr if stream is None else stream
        self._monotonic = monotonic
        self._is_shown = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._begun = self._drawn = monotonic()
        self._is_on_screen = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def at(self, done: int, *, what: str | None = None) -> None:
        """So much is done; `what` is being done from now on."""
        if what is not None:
            self._what = what
        if not self._is_shown:
            return
        now = self._monotonic()
        if now - self._drawn < BETWEEN_S:
            return
        self._drawn = now
        columns = shutil.get_terminal_size().columns - 1
        text = bar(
            self._what,
            done=done,
            total=self._total,
            unit=self._unit,
            elapsed_s=now - self._begun,
            columns=columns,
        )
        self._is_on_screen = True  # before it is: Ctrl-C may come in between
        self._stream.write(f"{CLEAR}{text}")
        self._stream.flush()

    def clear(self) -> None:
        """Takes the line away, before something else is printed; `at` draws it again."""
        if self._is_on_screen:
            self._stream.write(CLEAR)
            self._stream.flush()
            self._is_on_screen = False

"""A live table: it has the whole terminal while it is shown, and leaves it as it was.

The table is on the terminal's other screen, which leaves what stood there before untouched.  Every
way out, Ctrl-C and SIGTERM among them, goes through `__exit__`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

ENTER = "\x1b[?1049h\x1b[?25l"
"""To the other screen, without a cursor ..."""
LEAVE = "\x1b[?25h\x1b[?1049l"
"""... and back."""
HOME = "\x1b[H"
CLEAR_LINE = "\x1b[K"
CLEAR_BELOW = "\x1b[J"


def fit(lines: Sequence[str], *, columns: int, rows: int) -> list[str]:
    """What of the lines a window can show: each cut to its width, and how many are left out."""
    shown = list(lines)
    if len(shown) > rows > 0:
        left_out = len(shown) - (rows - 1)
        shown = [*shown[: rows - 1], f"... {left_out} more lines: make the window higher"]
    return [line[:columns] for line in shown[:rows]]


class Screen:
    """The terminal that stdout is.  Use it as a context, from the main thread."""

    def __init__(self) -> None:
        self._stream = sys.stdout
        self._lines: Sequence[str] = ()
        self._wake, self._woken = os.pipe()
        self._before: Any = None
        self._wakeup_before = -1

    def __enter__(self) -> Screen:
        for end in (self._wake, self._woken):
            os.set_blocking(end, False)
        self._wakeup_before = signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        self._before = signal.signal(signal.SIGWINCH, _resized)
        self._write(ENTER)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGWINCH, self._before)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._wake)
        os.close(self._woken)
        self._write(LEAVE)

    def draw(self, lines: Sequence[str]) -> None:
        """Shows these lines in place of those before."""
        self._lines = lines
        size = os.get_terminal_size(self._stream.fileno())
        shown = fit(lines, columns=size.columns, rows=size.lines)
        text = "\n".join(f"{line}{CLEAR_LINE}" for line in shown)
        self._write(f"{HOME}{text}{CLEAR_BELOW}")

    def wait(self, seconds: float) -> None:
        """Until so much time has passed; a window that changes its size is drawn again at once."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._wake], [], [], left)
            if ready:
                os.read(self._wake, 4096)
                self.draw(self._lines)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _resized(number: int, frame: FrameType | None) -> None:
    """Nothing to do here: that a signal came is what `wait` is woken by."""

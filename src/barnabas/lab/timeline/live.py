"""The live view: frames drawn over themselves on a terminal, and lines as they come elsewhere.

The view stays on the terminal's own screen, so that the last frame is still there when the verdict
is printed below it.  All calls are safe on any thread: looks come from one, marks from another.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from typing import TextIO

from barnabas.lab.timeline.frame import frame, mark_line
from barnabas.lab.timeline.model import Kind, Look, Mark, Timeline

BETWEEN_S = 0.1
CLEAR_BELOW = "\x1b[J"


class Recorder:
    """The timeline of a run that is under way, and who is shown it."""

    def __init__(self, heading: str, stream: TextIO | None) -> None:
        """Without a stream nothing is shown."""
        self.timeline = Timeline()
        self._heading = heading
        self._stream = stream
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._drawn = 0.0
        self._height = 0
        self._is_live = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        self.is_coloured = self._is_live and "NO_COLOR" not in os.environ

    def begin(self) -> None:
        """Time counts from here: what went before was getting ready."""
        self._began = time.monotonic()

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def mark(self, kind: Kind, text: str) -> None:
        """Something happened, just now."""
        with self._lock:
            mark = Mark(self.now(), kind, text)
            self.timeline.marks.append(mark)
            if self._is_live:
                self._draw()
            elif self._stream is not None:
                self._stream.write(mark_line(mark) + "\n")
                self._stream.flush()

    def look(self, look: Look) -> None:
        """What was seen of the cluster and its clients."""
        with self._lock:
            self.timeline.looks.append(look)
            if self._is_live and time.monotonic() - self._drawn >= BETWEEN_S:
                self._draw()

    def close(self) -> None:
        """The last frame, with everything that happened; it stays."""
        with self._lock:
            if self._is_live:
                self._draw(everything=True)
                self._height = 0

    def _draw(self, *, everything: bool = False) -> None:
        assert self._stream is not None
        size = shutil.get_terminal_size()
        fixed = len(self.timeline.partitions()) + 5
        shown = len(self.timeline.marks) if everything else max(1, size.lines - fixed)
        lines = frame(
            self._heading,
            self.timeline,
            columns=size.columns,
            now=max(self.now(), 1.0),
            is_coloured=self.is_coloured,
            marks_shown=min(shown, 12) if not everything else shown,
        )
        if not everything:
            lines = lines[: max(1, size.lines - 1)]
        up = f"\x1b[{self._height}A\r" if self._height else ""
        self._stream.write(f"{up}{CLEAR_BELOW}" + "".join(f"{line}\n" for line in lines))
        self._stream.flush()
        self._height = len(lines)
        self._drawn = time.monotonic()

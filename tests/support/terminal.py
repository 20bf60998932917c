"""A terminal with a program in it, and us at its keyboard."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CTRL_C = b"\x03"
CTRL_D = b"\x04"


class Terminal:
    """A program whose standard streams are a terminal, and we at its keyboard."""

    def __init__(
        self,
        command: list[str | Path],
        *,
        columns: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._keyboard, theirs = pty.openpty()
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(theirs)
        """How the terminal was set before the program had it."""
        inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            close_fds=True,
            cwd=folder,
            env={**inherited, "TERM": "xterm-256color", **(env or {})},
            preexec_fn=_take_terminal,  # noqa: PLW1509  # the child must own the terminal
        )
        self._theirs = theirs
        self.shown = b""
        self.transcript = b""
        """All that was ever shown; `shown` is what has not been waited for yet."""

    def resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, size)

    def modes_now(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def type(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def read_until(self, text: bytes, *, timeout_s: float = 60) -> None:
        """Waits until the program has shown a text, after what was waited for before."""
        give_up = time.monotonic() + timeout_s
        while text not in self.shown:
            assert self._read(give_up), f"{text!r} is not in {self.shown!r}"
        self.shown = self.shown.partition(text)[2]

    def read_to_end(self, *, timeout_s: float = 60) -> bytes:
        """All that it has shown since, once it has ended."""
        give_up = time.monotonic() + timeout_s
        while self.process.poll() is None:
            assert time.monotonic() < give_up, f"it does not end: {self.shown!r}"
            self._read(time.monotonic() + 0.05)
        while self._read(time.monotonic()):
            pass
        return self.shown

    def _read(self, give_up: float) -> bool:
        ready, _, _ = select.select([self._keyboard], [], [], max(0, give_up - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._keyboard, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.shown += data
        self.transcript += data
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._theirs)
        os.close(self._keyboard)


def _take_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

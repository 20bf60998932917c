"""A client program of a run: a process of its own, with a journal that is read as it grows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.scenarios.ledger import Book

STOP_S = 60.0


class ProgramError(Exception):
    """A program ended that should not have; the text has its last words."""


class Program:
    """`barnabas lab producer` or `consumer`, started.  Whoever made it ends it."""

    def __init__(
        self, side: str, name: str, options: Mapping[str, str], folder: Path, book: Book
    ) -> None:
        self.name = name
        self.book = book
        self.is_ended = False
        """Whether its end was wanted, or is its own."""
        self._output = folder / f"{name}.out"
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-u", "-m", "barnabas.cli.main", "lab", side, *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "BARNABAS_STOP_WITH": str(os.getpid())},
                start_new_session=True,  # Ctrl-C is for the run, which ends its programs itself
            )

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def check(self) -> None:
        """`ProgramError` if it has failed by itself."""
        if not self.is_ended and self.status not in (None, 0):
            last = " / ".join(self.output.strip().splitlines()[-3:])
            raise ProgramError(f"{self.name} ended with status {self.status}: {last}")

    def wait(self, timeout_s: float) -> int:
        """Its exit status, once it has ended by itself."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ProgramError(f"{self.name} has not ended in {timeout_s:.0f} s") from None
        self.check()
        return status

    def kill(self) -> None:
        """KILL: it says goodbye to nobody."""
        self.is_ended = True
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """TERM: it leaves as it should, and is killed if it does not."""
        self.is_ended = True
        if self.status is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ProgramError(f"{self.name} did not stop in {STOP_S:.0f} s") from None

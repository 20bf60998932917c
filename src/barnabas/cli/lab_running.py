"""How a program of the lab runs: its logs are open, and a signal ends it cleanly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.perf_common import Interrupts
from barnabas.lab.programs.journaling import Journal
from barnabas.lab.programs.payload_log import PayloadLog

if TYPE_CHECKING:
    from types import FrameType

    from barnabas.lab.programs.options import SharedOptions


STOP_WITH = "BARNABAS_STOP_WITH"
"""The process without which this one is to end: a run of the lab that was killed leaves nobody."""


class Stopping(Interrupts):
    """The first signal asks for a clean end, a second does not wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._parent = int(os.environ.get(STOP_WITH, "0"))

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._noted is not None:
            raise KeyboardInterrupt
        super()._note(number, frame)

    def __call__(self) -> bool:
        """Whether the program is to end."""
        is_orphan = self._parent != 0 and os.getppid() != self._parent
        return self._noted is not None or is_orphan

    @property
    def status(self) -> int:
        """What the program ends with: as by the signal, if one came."""
        return 0 if self._noted is None else 128 + self._noted


@contextmanager
def running(options: SharedOptions) -> Iterator[tuple[Stopping, PayloadLog, Journal]]:
    """What tells the program to end, and where it writes down what it does."""
    log_path = Path(options.log_dir) / options.log_name
    journal_path = None if options.journal is None else Path(options.journal)
    with (
        Stopping() as stopping,
        PayloadLog(log_path, truncate=options.payload_trunc) as log,
        Journal(journal_path, options.name) as journal,
    ):
        yield stopping, log, journal


def say(text: str) -> None:
    """What a program tells as it goes; whoever reads a pipe sees it at once."""
    print(text, flush=True)

"""A server behind the back: a process of its own that has said it is ready before we go."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from barnabas.cli.command import CommandError

LOOK_S = 0.05
READY_TIMEOUT_S = 30.0


def run_in_background(what: str, log_name: str, *, ready: str, serve: Callable[[], int]) -> int:
    """Have `serve` run in a new process, with its output in $LOG_DIR; the exit status.

    It is ready when `ready` stands in its output.  `CommandError` with its last words if it ends
    before.
    """
    log = Path(os.environ.get("LOG_DIR", "logs")) / log_name
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    except OSError as error:
        raise CommandError(f"cannot write {log}: {error.strerror}") from None
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        return serve()
    _await_ready(child, what, log, ready)
    print(f"{what} started in the background: process {child}, log in {log}")
    return 0


def _await_ready(child: int, what: str, log: Path, ready: str) -> None:
    give_up = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < give_up:
        ended, _ = os.waitpid(child, os.WNOHANG)
        text = log.read_text(errors="replace")
        if ended:
            last = text.strip().rpartition("\n")[2]
            raise CommandError(f"the {what} did not start: {last or 'it said nothing'}")
        if ready in text:
            return
        time.sleep(LOOK_S)
    print(f"the {what} is not ready yet: see {log}", file=sys.stderr)

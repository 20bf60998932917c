"""A process of a lab's cluster: started, heard, ended; its end is noticed, whatever ended it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

GUARD = 'read -r _ && exit; kill -TERM "$1"; kill -CONT "$1"'
"""A shell that hears a line when the process has ended, and nothing but the end of its input when
the lab has, however that did.  What is frozen cannot see to it by itself, nor can what is not ours.
"""


class DidNotStart(Exception):  # noqa: N818 (says what happened)
    """A process ended, or had nothing to say, before it was ready; the text has what it printed."""


@dataclass(slots=True, kw_only=True)
class NodeProcess:
    """One run of a program.  Any thread may call; `output` grows as it prints."""

    name: str
    popen: subprocess.Popen[bytes]
    output: list[str]
    is_ready_line: Callable[[str], bool]
    on_end: Callable[[], None]
    """Called once, on another thread, when it has ended."""
    settled: threading.Event = field(default_factory=threading.Event)
    is_ready: bool = False
    reader: threading.Thread = field(init=False)
    guard: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(self.popen.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        output: list[str],
        is_ready_line: Callable[[str], bool],
        on_end: Callable[[], None],
        keep: Sequence[int] = (),
    ) -> NodeProcess:
        """`keep`: descriptors that it inherits."""
        popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "BARNABAS_STOP_WITH": str(os.getpid())},
            pass_fds=keep,
            start_new_session=True,  # Ctrl-C is for the lab, which ends them in order
        )
        return cls(
            name=name, popen=popen, output=output, is_ready_line=is_ready_line, on_end=on_end
        )

    @property
    def is_running(self) -> bool:
        return self.popen.poll() is None

    def await_ready(self, timeout_s: float) -> None:
        self.settled.wait(timeout_s)
        if not self.is_ready:
            self.popen.kill()
            self.join(30)
            raise DidNotStart(f"{self.name} did not start:\n{''.join(self.output[-40:])}")

    def signal(self, number: signal.Signals) -> None:
        if self.is_running:
            self.popen.send_signal(number)

    def join(self, timeout_s: float) -> None:
        """Wait for its end.  TimeoutError if it does not come."""
        try:
            self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"{self.name} did not end in {timeout_s} s:\n{''.join(self.output[-40:])}"
            ) from None

    def _read(self) -> None:
        """Keep what it prints, so that its pipe never fills; notice when it is ready, and its end.

        A program that it started may keep the pipe open longer than itself.
        """
        assert self.popen.stdout is not None
        with self.popen.stdout as lines:
            for line in lines:
                text = line.decode(errors="replace")
                self.output.append(text)
                if not self.is_ready and self.is_ready_line(text):
                    self.is_ready = True
                    self.settled.set()
        self.popen.wait()
        self.guard.communicate(b"ended\n")
        self.settled.set()
        self.on_end()

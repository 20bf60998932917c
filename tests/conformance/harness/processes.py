"""A child process with a log file: started, waited for until ready, measured, and surely ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

CpuTimes = dict[int, tuple[float, float]]
"""User and system seconds of processes: their own, and of children that they waited for."""

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.002


class StartFailedError(Exception):
    """The process ended, or did not become ready in time; the message has the end of its log."""


def free_port() -> int:
    """A port that was free a moment ago: only for programs that cannot bind to port 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Child:
    """One process in a session of its own, its output in `log_path`."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log_path: Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log_path = log_path
        self.started_at = time.monotonic()
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Exit status, None while it runs."""
        return self._process.poll()

    def age(self) -> float:
        """Seconds since the process was started."""
        return time.monotonic() - self.started_at

    def log_text(self) -> str:
        return self.log_path.read_text(errors="replace")

    def wait_until(self, ready: Callable[[], bool], *, what: str, seconds: float) -> float:
        """Poll `ready`; return the seconds since the process was started."""
        while not ready():
            if self.status is not None:
                raise StartFailedError(
                    f"ended with {self.status} before {what}:\n{self.log_text()[-3000:]}"
                )
            if self.age() > seconds:
                raise StartFailedError(f"no {what} in {seconds} s:\n{self.log_text()[-3000:]}")
            time.sleep(POLL_SECONDS)
        return self.age()

    def stop(self, *, seconds: float = 30.0) -> int:
        """End it in the polite way; kill it when that takes too long."""
        if self.status is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> int:
        """kill -9, of the process and its children."""
        if self.status is None:
            os.killpg(self.pid, signal.SIGKILL)
        return self._process.wait(10)


def tree(pid: int) -> list[int]:
    """The process and all that descend from it."""
    found, queue = [], [pid]
    while queue:
        parent = queue.pop()
        found.append(parent)
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
                queue.extend(int(child) for child in task.read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of the whole tree, ended and waited-for children included."""
    return sum(map(sum, cpu_times(pid).values()))


def cpu_times(pid: int) -> CpuTimes:
    """Of each process of the tree; none of one that has ended."""
    found = {}
    for member in tree(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        user, system, ended_user, ended_system = (int(field) for field in fields[11:15])
        found[member] = (
            (user + system) / TICKS_PER_SECOND,
            (ended_user + ended_system) / TICKS_PER_SECOND,
        )
    return found


def rss_bytes(pid: int) -> int:
    """Resident memory of the whole tree."""
    pages = sum(int(Path(f"/proc/{member}/statm").read_text().split()[1]) for member in tree(pid))
    return pages * os.sysconf("SC_PAGE_SIZE")

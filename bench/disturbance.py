"""How much of the machine others used while something was measured."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.processes import TICKS_PER_SECOND, cpu_seconds

QUIET = 0.1
"""The share of all cores up to which a measurement counts as undisturbed."""


def busy_seconds() -> float:
    """CPU time of the whole machine; time that the hypervisor took from it counts as busy."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS_PER_SECOND  # not idle, not waiting for I/O


def own_seconds(pids: Iterable[int]) -> float:
    """CPU time of this process, of all its children that ended, and of the brokers that run."""
    ended = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in ended) + sum(
        map(_running_seconds, pids)
    )


def _running_seconds(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except FileNotFoundError:  # it was killed, as the case wants it: it is one of those that ended
        return 0.0


class Watch:
    """`share()`: what others used since the watch began, of all cores.

    Kernel threads that write our data to the disk are among the others; they are part of any run.
    """

    def __init__(self, pids: Callable[[], list[int]]) -> None:
        self._pids = pids
        self._start = (time.monotonic(), busy_seconds(), own_seconds(pids()))

    def share(self) -> float:
        passed = time.monotonic() - self._start[0]
        others = busy_seconds() - self._start[1] - (own_seconds(self._pids()) - self._start[2])
        return max(0.0, others / (passed * (os.cpu_count() or 1)))

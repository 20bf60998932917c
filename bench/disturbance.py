"""How much of the machine others used while something was measured."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.processes import TICKS_PER_SECOND, CpuTimes, cpu_times

QUIET = 0.1
"""The share of all cores up to which a measurement counts as undisturbed."""


def busy_seconds() -> float:
    """CPU time of the whole machine; time that the hypervisor took from it counts as busy."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS_PER_SECOND  # not idle, not waiting for I/O


def used(before: CpuTimes, after: CpuTimes) -> float:
    """CPU seconds of some processes between two looks at them.

    What a process had used is found again with whoever waited for its end.  Nobody waits for the
    Python workers of Spark, so that theirs is missing afterwards: those that are still there then
    say how much it was at least.
    """
    total = sum(map(sum, after.values())) - sum(map(sum, before.values()))
    alone = sum(own - before.get(pid, (0.0, 0.0))[0] for pid, (own, _) in after.items())
    return max(total, alone)


def own_times(pids: Iterable[int]) -> CpuTimes:
    """Of this process and of the brokers and programs that run."""
    mine, ended = (
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    found = {os.getpid(): (mine, ended)}
    for pid in pids:
        found |= cpu_times(pid)  # nothing of one that was killed: it is one of those that ended
    return found


class Watch:
    """`share()`: what others used since the watch began, of all cores.

    Kernel threads that write our data to the disk are among the others; they are part of any run.
    """

    def __init__(self, pids: Callable[[], list[int]]) -> None:
        self._pids = pids
        self._start = (time.monotonic(), busy_seconds(), own_times(pids()))

    def share(self) -> float:
        passed = time.monotonic() - self._start[0]
        others = busy_seconds() - self._start[1] - used(self._start[2], own_times(self._pids()))
        return max(0.0, others / (passed * (os.cpu_count() or 1)))

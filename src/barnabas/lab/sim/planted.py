"""Bugs that the simulator must find: each takes one promise away, and seeds are known that show it.

They are patched in for one run, and are in no node that anybody else starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers import k00_produce
from barnabas.lab import disk_journal
from barnabas.lab.sim import zookeeper
from barnabas.lab.sim.scenario import Report, run_seed
from barnabas.replication.fetcher import Fetcher
from barnabas.replication.held import HeldAnswers

END_OF_TIME = 1 << 62
NOW_AND_THEN = 256
"""Of its journal's bytes, how many a stale controller flushes before it leaves out three times as
many."""


@contextmanager
def _patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def nothing() -> Iterator[None]:
    """No bug: what the others are compared with."""
    yield


@contextmanager
def early_ack() -> Iterator[None]:
    """A leader answers acks=all as soon as it has written the records itself."""
    original = HeldAnswers.release

    def release(held: HeldAnswers, high_watermark: int, code: ErrorCode) -> None:
        original(held, END_OF_TIME, code)

    with (
        _patched(k00_produce, "_replicated", lambda outcome: True),
        _patched(HeldAnswers, "release", release),
    ):
        yield


@contextmanager
def missing_truncation() -> Iterator[None]:
    """A follower does not say which epoch its last record is of: nobody sees that it diverged."""
    original = Fetcher.next_request

    def forgetful(fetcher: Fetcher, now: float) -> Any:
        request = original(fetcher, now)
        for topic in request.topics if request is not None else ():
            for partition in topic.partitions:
                partition.last_fetched_epoch = -1
        return request

    with _patched(Fetcher, "next_request", forgetful):
        yield


@contextmanager
def stale_controller() -> Iterator[None]:
    """A controller decides on what was true earlier.

    It answers before its journal is durable: without power it forgets, comes back, and gives out
    epochs for the second time.  In ZooKeeper neither versions nor sessions are looked at, so that
    a deposed controller can still write.
    """

    def append(files: Any, name: str, data: bytes, *, position: int) -> None:
        files._disk.make_directory(files._path)  # noqa: SLF001 (a patch of it)
        files._disk.write_bytes(files._at(name), data, position=position)  # noqa: SLF001
        if position % (4 * NOW_AND_THEN) < NOW_AND_THEN:
            files._disk.sync_path(files._at(name))  # noqa: SLF001

    with (
        _patched(disk_journal.DiskJournalFiles, "append", append),
        _patched(zookeeper.SimZooKeeperServer, "is_lax", True),
    ):
        yield


@dataclass(frozen=True, slots=True)
class Bug:
    """How to plant it, and the faults that bring it to light."""

    plant: Callable[[], AbstractContextManager[None]]
    faults: frozenset[str]


PLANTED = {
    "early ack": Bug(early_ack, frozenset(("isolate", "kill"))),
    "missing truncation": Bug(missing_truncation, frozenset(("isolate", "kill"))),
    "stale controller": Bug(stale_controller, frozenset(("power cut", "kill", "pause"))),
}


def find(bug: Bug, seeds: Iterable[int]) -> Report | None:
    """The first of these seeds that finds the bug, with only the faults that should."""
    with bug.plant():
        for seed in seeds:
            report = run_seed(seed, only=bug.faults)
            if not report.is_good:
                return report
    return None

"""Bugs that the simulator must find: each takes one promise away, and seeds are known that show it.

They are patched in for one run, and are in no node that anybody else starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from barnabas.broker.handlers import k00_produce
from barnabas.lab.sim import machine, zookeeper
from barnabas.replication.fetcher import Fetcher

DURABLE_BYTES = 3_000
"""What a stale controller remembers for sure: enough for brokers to register and topics to be."""


@contextmanager
def _patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def early_ack() -> Iterator[None]:
    """A leader answers acks=all as soon as it has written the records itself."""
    with _patched(k00_produce, "_replicated", lambda outcome: True):
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
    epochs for the second time.  In ZooKeeper versions are not compared, so that a deposed
    controller can still write.
    """

    def append(files: Any, name: str, data: bytes, *, position: int) -> None:
        files._disk.make_directory(files._path)  # noqa: SLF001 (a patch of it)
        files._disk.write_bytes(files._at(name), data, position=position)  # noqa: SLF001
        if position < DURABLE_BYTES:
            files._disk.sync_path(files._at(name))  # noqa: SLF001

    with (
        _patched(machine.SimJournalFiles, "append", append),
        _patched(zookeeper.SimZooKeeperServer, "is_lax", True),
    ):
        yield


PLANTED: dict[str, Callable[[], Any]] = {
    "early ack": early_ack,
    "missing truncation": missing_truncation,
    "stale controller": stale_controller,
}

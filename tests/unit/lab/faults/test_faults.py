"""Faults that hold at the same time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from barnabas.lab.faults.disk_state import DiskState, Felt
from barnabas.lab.faults.faults import Faults


class Node:
    """A broker, as far as its disk is concerned."""

    id = 1
    disk = DiskState()

    def set_disk(self, state: DiskState) -> None:
        self.disk = state

    def on_disk_felt(self, felt: Felt) -> None:
        raise AssertionError("nobody has broken it")


def test_faults_of_one_disk_hold_together_and_end_one_by_one() -> None:
    node = Node()
    faults = Faults(cast("Any", SimpleNamespace(relays=None, brokers={1: node})))
    slow, full, slower = faults.slow_disk(1, 0.5), faults.full_disk(1), faults.slow_disk(1, 0.25)
    assert node.disk == DiskState(slow_s=0.75, full=True)

    node.on_disk_felt("full")
    assert (slow.hits, full.hits, slower.hits) == (0, 1, 0)
    full.lift()
    assert node.disk == DiskState(slow_s=0.75)
    slow.lift()
    assert node.disk == DiskState(slow_s=0.25)
    node.on_disk_felt("slow")
    assert (slow.hits, full.hits, slower.hits) == (0, 1, 1)
    faults.lift_all()
    assert node.disk == DiskState()

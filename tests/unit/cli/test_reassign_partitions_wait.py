from __future__ import annotations

from barnabas.cli.reassign_partitions_wait import copied, to_copy
from barnabas.client.replica_admin import Reassignment

T0, T1 = ("t", 0), ("t", 1)
MOVING = {
    T0: Reassignment(replicas=(3, 4, 1, 2), adding=(3, 4), removing=(1,)),
    T1: Reassignment(replicas=(1, 2), adding=(), removing=(2,)),
}


def test_new_replicas_become_as_large_as_the_largest_old_one() -> None:
    sizes = {(T0, 1): 90, (T0, 2): 100, (T0, 3): 500, (T1, 1): 7}
    assert to_copy(MOVING, sizes) == {(T0, 3): 100, (T0, 4): 100}


def test_sizes_that_nobody_told_are_nothing() -> None:
    assert to_copy(MOVING, {}) == {(T0, 3): 0, (T0, 4): 0}


def test_what_is_copied_is_counted_and_what_arrived_counts_in_full() -> None:
    expected = {(T0, 3): 100, (T0, 4): 100}
    assert copied(expected, {}, {T0}) == 0
    assert copied(expected, {(T0, 3): 30, (T0, 4): 250}, {T0}) == 130
    assert copied(expected, {}, set()) == 200

"""`--wait`: until all moves of a plan are done, with a bar on a terminal.

How far they are is counted in bytes: what the new replicas have, of what those have that they are
copied from.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.progress import Progress
from barnabas.cli.reassign_partitions_directories import find_directories, stored
from barnabas.client.brokers import Place
from barnabas.client.patience import Patience

if TYPE_CHECKING:
    from barnabas.cli.reassign_partitions_plan import Plan
    from barnabas.client.replica_admin import Reassignment, ReplicaAdmin

KIB = 1024

Sizes = Mapping[tuple[Place, int], int]
"""Bytes of a partition at a broker."""


def to_copy(moving: Mapping[Place, Reassignment], sizes: Sizes) -> dict[tuple[Place, int], int]:
    """The new replicas, and how large each of them is going to be.  Pure."""
    expected: dict[tuple[Place, int], int] = {}
    for place, under_way in moving.items():
        old = set(under_way.replicas) - set(under_way.adding)
        size = max((sizes.get((place, broker), 0) for broker in old), default=0)
        expected |= {(place, broker): size for broker in under_way.adding}
    return expected


def copied(expected: Sizes, sizes: Sizes, moving: Collection[Place]) -> int:
    """Bytes that the new replicas have; one that is no longer moving has all.  Pure."""
    return sum(
        min(size, sizes.get((place, broker), 0)) if place in moving else size
        for (place, broker), size in expected.items()
    )


def wait(admin: ReplicaAdmin, plan: Plan) -> None:
    patience = Patience(seconds=float("inf"))
    moving = _moving(admin, plan)
    sizes = _sizes(admin, moving)
    expected = to_copy(moving, sizes)
    with Progress("moving", total=sum(expected.values()) // KIB, unit="KiB") as progress:
        for tried in itertools.count():
            progress.at(copied(expected, sizes, moving) // KIB)
            directories = find_directories(admin, plan.directories)
            if not moving and all(each.is_done for each in directories):
                return
            patience.wait(tried, patience.deadline())
            moving = _moving(admin, plan)
            sizes = {**sizes, **_sizes(admin, moving)}


def _moving(admin: ReplicaAdmin, plan: Plan) -> dict[Place, Reassignment]:
    places = plan.places
    return {place: each for place, each in admin.reassignments().items() if place in places}


def _sizes(
    admin: ReplicaAdmin, moving: Mapping[Place, Reassignment]
) -> dict[tuple[Place, int], int]:
    """As far as brokers answer: one that is away does not end the waiting for it."""
    found = stored(admin, {place: each.replicas for place, each in moving.items()})
    return {((topic, number), broker): size for (topic, number, broker), (_, size) in found.items()}

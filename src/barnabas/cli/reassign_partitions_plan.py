"""What `kafka-reassign-partitions` is told and makes of it: plans, proposals, throttles.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.command import CommandError
from barnabas.cli.places import broker_ids, duplicates, partition_name

if TYPE_CHECKING:
    from random import Random

    from barnabas.cli.json_files import Json
    from barnabas.client.brokers import Place
    from barnabas.client.cluster_admin import Endpoint
    from barnabas.client.replica_admin import Reassignment, Replica

ANY_DIRECTORY = "any"
RACKS_MISSING = (
    "Not all brokers have rack information. Add --disable-rack-aware in command line to make "
    "replica assignment without rack information."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where replicas are to be."""

    targets: Sequence[tuple[Place, tuple[int, ...]]]
    """As written: a partition may be there twice until `checked`."""
    directories: Mapping[Replica, str]
    """Log directories of those replicas that have one chosen for them."""

    @property
    def places(self) -> dict[Place, tuple[int, ...]]:
        return dict(self.targets)


def parse_plan(document: Json) -> Plan:
    targets: list[tuple[Place, tuple[int, ...]]] = []
    directories: dict[Replica, str] = {}
    for each in document.listed("partitions"):
        topic, number = each.place()
        replicas = tuple(replica.whole() for replica in each.field("replicas").items())
        targets.append(((topic, number), replicas))
        written = each.optional("log_dirs")
        if written is None:
            continue
        chosen = [directory.text() for directory in written.items()]
        if len(chosen) != len(replicas):
            raise each.wrong(
                f"Size of replicas list {list(replicas)} is different from size of log dirs list "
                f"[{', '.join(chosen)}] for partition {topic}-{number}"
            )
        directories |= {
            (topic, number, broker): directory
            for broker, directory in zip(replicas, chosen, strict=True)
            if directory != ANY_DIRECTORY
        }
    return Plan(targets=targets, directories=directories)


def checked(plan: Plan) -> Plan:
    """The plan, if it can be carried out."""
    if not plan.targets:
        raise CommandError("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in plan.targets):
        raise CommandError("Partition replica list cannot be empty")
    twice = duplicates(place for place, _ in plan.targets)
    if twice:
        listed = ",".join(map(partition_name, twice))
        raise CommandError(f"Partition reassignment contains duplicate topic partitions: {listed}")
    repeated = [
        f"{partition_name(place)} contains multiple entries for {','.join(map(str, brokers))}"
        for place, replicas in plan.targets
        if (brokers := duplicates(replicas))
    ]
    if repeated:
        raise CommandError(
            f"Partition replica lists may not contain duplicate entries: {'. '.join(repeated)}"
        )
    return plan


def parse_topics(document: Json) -> list[str]:
    """Of the file for `--generate`."""
    topics = [each.field("topic").text() for each in document.listed("topics")]
    if duplicates(topics):
        listing = ", ".join(duplicates(topics))
        raise CommandError(f"List of topics to reassign contains duplicate entries: [{listing}]")
    return topics


def parse_brokers(text: str) -> list[int]:
    brokers = broker_ids(text)
    if duplicates(brokers):
        listing = ", ".join(map(str, duplicates(brokers)))
        raise CommandError(f"Broker list contains duplicate entries: [{listing}]")
    return brokers


def propose(
    current: Mapping[Place, Sequence[int]],
    brokers: Sequence[Endpoint],
    random: Random,
    *,
    by_rack: bool,
) -> dict[Place, tuple[int, ...]]:
    """Places for all replicas of these topics on these brokers, spread as for new topics.

    A topic keeps its number of replicas, that of its first partition.
    """
    from barnabas.controller.decider.placement import Placer
    from barnabas.controller.image_types import BrokerImage

    without = sum(broker.rack is None for broker in brokers)
    if by_rack and 0 < without < len(brokers):
        raise CommandError(RACKS_MISSING)
    images = [
        BrokerImage(
            id=broker.node_id,
            epoch=0,
            incarnation_id=b"",
            rack=broker.rack if by_rack else None,
            fenced=False,
        )
        for broker in brokers
    ]
    proposed: dict[Place, tuple[int, ...]] = {}
    for topic in sorted({topic for topic, _ in current}):
        numbers = sorted(number for each, number in current if each == topic)
        factor = len(current[topic, numbers[0]])
        if factor > len(brokers):
            raise CommandError(
                f"Replication factor: {factor} larger than available brokers: {len(brokers)}."
            )
        placer = Placer(images, random)
        proposed |= {(topic, number): tuple(placer.place(factor)) for number in numbers}
    return proposed


def factor_changes(
    proposed: Mapping[Place, Sequence[int]],
    current: Mapping[Place, Sequence[int]],
    reassignments: Mapping[Place, Reassignment],
) -> dict[Place, str]:
    """Partitions that would have more replicas, or fewer, and what to say of each."""
    changed = {}
    for place, replicas in proposed.items():
        under_way = reassignments.get(place)
        before = len(current[place]) - (0 if under_way is None else len(under_way.adding))
        if len(replicas) != before:
            changed[place] = f"The replication factor is changed from {before} to {len(replicas)}"
    return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Of one partition: brokers that it is copied from, and those it is copied to."""

    sources: frozenset[int]
    destinations: frozenset[int]


def moves(
    reassignments: Mapping[Place, Reassignment],
    proposed: Mapping[Place, Sequence[int]],
    current: Mapping[Place, Sequence[int]],
) -> dict[Place, Move]:
    """All partitions that move, those that are on their way already among them."""
    found = {}
    for place, under_way in reassignments.items():
        adding = frozenset(under_way.adding)
        found[place] = Move(sources=frozenset(under_way.replicas) - adding, destinations=adding)
    for place, replicas in proposed.items():
        sources = found[place].sources if place in found else frozenset(current[place])
        found[place] = Move(sources=sources, destinations=frozenset(replicas) - sources)
    return found


def leader_throttles(moved: Mapping[Place, Move]) -> dict[str, str]:
    """Of each topic: the replicas that are read at the throttled rate."""
    return _throttled({place: move.sources for place, move in moved.items()})


def follower_throttles(moved: Mapping[Place, Move]) -> dict[str, str]:
    """Of each topic: the replicas that are written at the throttled rate."""
    return _throttled({place: move.destinations for place, move in moved.items()})


def _throttled(brokers: Mapping[Place, Collection[int]]) -> dict[str, str]:
    replicas: dict[str, list[str]] = {}
    for (topic, number), ids in brokers.items():
        replicas.setdefault(topic, []).extend(f"{number}:{broker}" for broker in ids)
    return {topic: ",".join(sorted(each)) for topic, each in replicas.items()}


def brokers_of(moved: Mapping[Place, Move]) -> list[int]:
    return sorted({id_ for move in moved.values() for id_ in move.sources | move.destinations})

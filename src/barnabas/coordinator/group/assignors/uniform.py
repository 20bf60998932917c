"""Uniform: members get as many partitions as each other, give or take one, and keep what they had.

If members read different topics, that is not always possible; then no single move of a partition
from one member to another makes the two more equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from barnabas.coordinator.group.assignors.model import Assignment, Spec
from barnabas.coordinator.group.records import Partitions


def assign_uniform(spec: Spec) -> Assignment:
    if not spec.members:
        return {}
    topics = {member.topics for member in spec.members}
    return _assign_mixed(spec) if len(topics) > 1 else _assign_alike(spec, topics.pop())


def _assign_alike(spec: Spec, topics: frozenset[bytes]) -> Assignment:
    """All members read the same topics.  Who keeps all it had, keeps the very same mapping."""
    members = spec.sorted_members()
    total = sum(spec.partitions[topic] for topic in topics)
    quota, extra = divmod(total, len(members))
    all_valid = _are_valid([member.target for member in members], topics, spec)
    taken: dict[bytes, set[int]] = {topic: set() for topic in topics}
    kept: list[tuple[str, Partitions, int]] = []
    for member in members:
        mine = member.target
        if all_valid:
            count = sum(map(len, mine.values()))
        else:
            mine, count = _still_valid(mine, taken, spec)
        if count > quota:
            allowed = quota + 1 if extra else quota
            extra = max(extra - 1, 0)
            if count > allowed:
                mine, count = _first(mine, allowed), allowed
        for topic, indexes in mine.items():
            taken[topic] |= indexes
        kept.append((member.member_id, mine, count))
    free = iter(
        (topic, index)
        for topic in sorted(topics)
        for index in range(spec.partitions[topic])
        if index not in taken[topic]
    )
    result: Assignment = {}
    for member_id, mine, count in kept:
        missing = quota - count
        if missing >= 0 and extra:
            missing += 1
            extra -= 1
        result[member_id] = _joined(mine, list(islice(free, missing))) if missing > 0 else mine
    assert next(free, None) is None, "every partition is assigned"
    return result


def _are_valid(targets: list[Partitions], topics: frozenset[bytes], spec: Spec) -> bool:
    """Whether all that the targets have is still there to have, and nothing is in two of them."""
    found: dict[bytes, list[frozenset[int]]] = {topic: [] for topic in topics}
    for target in targets:
        for topic, indexes in target.items():
            if topic not in found:
                return False
            found[topic].append(indexes)
    return all(
        len(every := frozenset().union(*parts)) == sum(map(len, parts))
        and max(every, default=-1) < spec.partitions[topic]
        for topic, parts in found.items()
    )


def _still_valid(
    target: Partitions, taken: Mapping[bytes, set[int]], spec: Spec
) -> tuple[Partitions, int]:
    """What of `target` is still there to have and not taken, and how many that are."""
    count = 0
    for topic, indexes in target.items():
        others = taken.get(topic)
        if others is None or max(indexes) >= spec.partitions[topic]:
            break
        if not others.isdisjoint(indexes):
            break
        count += len(indexes)
    else:
        return target, count
    rest = {
        topic: frozenset(i for i in indexes if i < spec.partitions[topic]) - taken[topic]
        for topic, indexes in target.items()
        if topic in taken
    }
    rest = {topic: indexes for topic, indexes in rest.items() if indexes}
    return rest, sum(map(len, rest.values()))


def _first(partitions: Partitions, count: int) -> Partitions:
    """The first `count` of them, by topic and number."""
    every = [(topic, index) for topic in sorted(partitions) for index in sorted(partitions[topic])]
    return _joined({}, every[:count])


def _joined(partitions: Partitions, more: list[tuple[bytes, int]]) -> Partitions:
    grouped: dict[bytes, set[int]] = {topic: set(found) for topic, found in partitions.items()}
    for topic, index in more:
        grouped.setdefault(topic, set()).add(index)
    return {topic: frozenset(indexes) for topic, indexes in grouped.items()}


def _assign_mixed(spec: Spec) -> Assignment:
    """Members read different topics."""
    members = spec.sorted_members()
    rank = {member.member_id: place for place, member in enumerate(members)}
    readers: dict[bytes, list[str]] = {
        topic: [m.member_id for m in members if topic in m.topics]
        for topic in sorted(spec.partitions)
    }
    owner: dict[tuple[bytes, int], str] = {}
    taken: dict[bytes, set[int]] = {topic: set() for topic in spec.partitions}
    for member in members:
        reads = {topic: taken[topic] for topic in member.topics}
        for topic, indexes in _still_valid(member.target, reads, spec)[0].items():
            taken[topic] |= indexes
            owner |= dict.fromkeys(((topic, index) for index in indexes), member.member_id)
    load = dict.fromkeys(rank, 0)
    for member_id in owner.values():
        load[member_id] += 1
    # Topics with few readers first: their partitions have the fewest places to go.
    for topic in sorted(readers, key=lambda t: (len(readers[t]), t)):
        if not readers[topic]:
            continue
        for index in range(spec.partitions[topic]):
            if (topic, index) not in owner:
                least = min(readers[topic], key=lambda m: (load[m], rank[m]))
                owner[topic, index] = least
                load[least] += 1
    _level(owner, load, readers, rank)
    result: dict[str, list[tuple[bytes, int]]] = {m.member_id: [] for m in members}
    for partition, member_id in owner.items():
        result[member_id].append(partition)
    return {member_id: _joined({}, mine) for member_id, mine in result.items()}


def _level(
    owner: dict[tuple[bytes, int], str],
    load: dict[str, int],
    readers: dict[bytes, list[str]],
    rank: dict[str, int],
) -> None:
    """Move partitions from fuller to emptier members while that makes the two more equal.

    Each move lowers the sum of the squares of the loads, so it ends.
    """
    moved = True
    while moved:
        moved = False
        for partition in sorted(owner):
            has = owner[partition]
            least = min(readers[partition[0]], key=lambda m: (load[m], rank[m]))
            if load[has] > load[least] + 1:
                owner[partition] = least
                load[has] -= 1
                load[least] += 1
                moved = True

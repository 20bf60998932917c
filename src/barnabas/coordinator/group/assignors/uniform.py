"""Uniform: members get as many partitions as each other, give or take one, and keep what they had.

If members read different topics, that is not always possible; then no single move of a partition
from one member to another makes the two more equal.
"""

from __future__ import annotations

from barnabas.coordinator.group.assignors.model import Assignment, MemberSpec, Spec


def assign_uniform(spec: Spec) -> Assignment:
    if not spec.members:
        return {}
    first = spec.members[0].topics
    if all(member.topics == first for member in spec.members):
        return _assign_alike(spec, first)
    return _assign_mixed(spec)


def _assign_alike(spec: Spec, topics: frozenset[bytes]) -> Assignment:
    """All members read the same topics."""
    members = spec.sorted_members()
    total = sum(spec.partitions[topic] for topic in topics)
    quota, extra = divmod(total, len(members))
    kept: dict[str, list[tuple[bytes, int]]] = {}
    taken: set[tuple[bytes, int]] = set()
    for member in members:
        had = _still_valid(member, topics, spec, taken)
        allowed = quota
        if len(had) > quota and extra:
            allowed += 1
            extra -= 1
        kept[member.member_id] = had[:allowed]
        taken.update(had[:allowed])
    free = iter(
        (topic, index)
        for topic in sorted(topics)
        for index in range(spec.partitions[topic])
        if (topic, index) not in taken
    )
    for member in members:
        mine = kept[member.member_id]
        missing = quota - len(mine)
        if missing >= 0 and extra:
            missing += 1
            extra -= 1
        mine += [next(free) for _ in range(max(missing, 0))]
    assert next(free, None) is None, "every partition is assigned"
    return {member_id: _by_topic(mine) for member_id, mine in kept.items()}


def _still_valid(
    member: MemberSpec, topics: frozenset[bytes], spec: Spec, taken: set[tuple[bytes, int]]
) -> list[tuple[bytes, int]]:
    return [
        (topic, index)
        for topic in sorted(member.target)
        if topic in topics
        for index in sorted(member.target[topic])
        if index < spec.partitions[topic] and (topic, index) not in taken
    ]


def _by_topic(partitions: list[tuple[bytes, int]]) -> dict[bytes, frozenset[int]]:
    grouped: dict[bytes, set[int]] = {}
    for topic, index in partitions:
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
    for member in members:
        for partition in _still_valid(member, member.topics, spec, set(owner)):
            owner[partition] = member.member_id
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
    return {member_id: _by_topic(mine) for member_id, mine in result.items()}


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

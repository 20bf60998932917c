"""Ranges: each topic by itself is cut into runs of partitions, one for each of its members.

Topics with as many partitions and the same members are cut alike, so that a member gets the same
partitions of each: a join of such topics finds both sides in one place.  Members keep what they
had as far as the cut allows.
"""

from __future__ import annotations

from barnabas.coordinator.group.assignors.model import Assignment, MemberSpec, Spec


def assign_range(spec: Spec) -> Assignment:
    members = spec.sorted_members()
    classes: dict[tuple[int, tuple[str, ...]], list[bytes]] = {}
    readers: dict[bytes, list[MemberSpec]] = {}
    for topic in sorted(spec.partitions):
        readers[topic] = [m for m in members if topic in m.topics]
        names = tuple(m.member_id for m in readers[topic])
        if names:
            classes.setdefault((spec.partitions[topic], names), []).append(topic)
    result: dict[str, dict[bytes, frozenset[int]]] = {m.member_id: {} for m in members}
    for (count, _), topics in classes.items():
        cut = _cut(count, readers[topics[0]], _example(topics, readers[topics[0]]))
        for member_id, indexes in cut.items():
            for topic in topics:
                result[member_id][topic] = indexes
    return dict(result)


def _example(topics: list[bytes], members: list[MemberSpec]) -> bytes:
    """The topic by which the others are cut: the first that was assigned before."""
    for topic in topics:
        if any(topic in m.target for m in members):
            return topic
    return topics[0]


def _cut(count: int, members: list[MemberSpec], example: bytes) -> dict[str, frozenset[int]]:
    quota, extra = divmod(count, len(members))
    kept: dict[str, list[int]] = {}
    taken: set[int] = set()
    for member in members:
        had = sorted(
            index
            for index in member.target.get(example, ())
            if index < count and index not in taken
        )
        allowed = quota
        if len(had) > quota and extra:
            allowed += 1
            extra -= 1
        kept[member.member_id] = had[:allowed]
        taken.update(had[:allowed])
    free = iter(index for index in range(count) if index not in taken)
    for member in members:
        mine = kept[member.member_id]
        missing = quota - len(mine)
        if missing >= 0 and extra:
            missing += 1
            extra -= 1
        mine += [next(free) for _ in range(max(missing, 0))]
    return {member_id: frozenset(mine) for member_id, mine in kept.items() if mine}

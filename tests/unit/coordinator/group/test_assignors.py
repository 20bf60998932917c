"""Range and uniform: fair, sticky, and every partition in one place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.coordinator.group.assignors import ASSIGNORS
from barnabas.coordinator.group.assignors.model import Assignment, MemberSpec, Spec
from barnabas.coordinator.group.assignors.range import assign_range
from barnabas.coordinator.group.assignors.uniform import assign_uniform

T, U, V = (name * 16 for name in (b"t", b"u", b"v"))


def spec(
    members: dict[str, set[bytes]],
    partitions: dict[bytes, int],
    before: Assignment | None = None,
) -> Spec:
    return Spec(
        members=tuple(
            MemberSpec(
                member_id=name,
                order=name,
                topics=frozenset(topics),
                target=(before or {}).get(name, {}),
            )
            for name, topics in members.items()
        ),
        partitions=partitions,
    )


def loads(assignment: Assignment) -> dict[str, int]:
    return {name: sum(map(len, mine.values())) for name, mine in assignment.items()}


def moves(before: Assignment, after: Assignment) -> int:
    """How many partitions changed hands."""
    had = {(t, i): m for m, mine in before.items() for t, p in mine.items() for i in p}
    return sum(
        had.get((t, i), m) != m for m, mine in after.items() for t, p in mine.items() for i in p
    )


# Range


def test_range_cuts_topics_that_are_alike_alike() -> None:
    found = assign_range(spec({"a": {T, U}, "b": {T, U}}, {T: 5, U: 5}))

    assert found == {
        "a": {T: frozenset({0, 1, 2}), U: frozenset({0, 1, 2})},
        "b": {T: frozenset({3, 4}), U: frozenset({3, 4})},
    }


def test_range_gives_some_members_nothing_if_there_are_too_many() -> None:
    found = assign_range(spec({"a": {T}, "b": {T}, "c": {T}}, {T: 2}))

    assert found == {"a": {T: frozenset({0})}, "b": {T: frozenset({1})}, "c": {}}


def test_range_looks_at_the_members_of_each_topic() -> None:
    found = assign_range(spec({"a": {T, U}, "b": {U}}, {T: 2, U: 2}))

    assert found == {
        "a": {T: frozenset({0, 1}), U: frozenset({0})},
        "b": {U: frozenset({1})},
    }


def test_range_keeps_what_members_had() -> None:
    before: Assignment = {"b": {T: frozenset({0, 1})}, "c": {T: frozenset({2, 3})}}

    found = assign_range(spec({"a": {T}, "b": {T}, "c": {T}}, {T: 6}, before))

    assert found == {
        "a": {T: frozenset({4, 5})},
        "b": {T: frozenset({0, 1})},
        "c": {T: frozenset({2, 3})},
    }


def test_range_gives_a_new_topic_to_those_who_have_its_like() -> None:
    before: Assignment = {"a": {T: frozenset({2, 3})}, "b": {T: frozenset({0, 1})}}

    found = assign_range(spec({"a": {T, U}, "b": {T, U}}, {T: 4, U: 4}, before))

    assert all(mine[T] == mine[U] == before[name][T] for name, mine in found.items())


# Uniform


def test_uniform_deals_out_all_topics_together() -> None:
    found = assign_uniform(spec({"a": {T, U}, "b": {T, U}}, {T: 1, U: 2}))

    assert sorted(loads(found).values()) == [1, 2]


def test_uniform_moves_no_more_than_it_must() -> None:
    before = assign_uniform(spec({"a": {T}, "b": {T}}, {T: 10}))

    after = assign_uniform(spec({"a": {T}, "b": {T}, "c": {T}}, {T: 10}, before))

    assert sorted(loads(after).values()) == [3, 3, 4]
    assert moves(before, after) == 3


def test_uniform_leaves_a_balanced_group_alone() -> None:
    members = {name: {T, U} for name in "abcdefg"}
    before = assign_uniform(spec(members, {T: 31, U: 8}))

    assert assign_uniform(spec(members, {T: 31, U: 8}, before)) == before


@pytest.mark.parametrize("count", [2, 4])
def test_uniform_gives_a_partition_that_two_claim_to_one(count: int) -> None:
    before: Assignment = {"a": {T: frozenset({0, 1})}, "b": {T: frozenset({1})}}

    found = assign_uniform(spec({"a": {T}, "b": {T}}, {T: count}, before))

    assert sorted(i for mine in found.values() for i in mine.get(T, ())) == list(range(count))


def test_uniform_with_different_topics_evens_out_what_it_can() -> None:
    found = assign_uniform(spec({"a": {T}, "b": {T, U}, "c": {U}}, {T: 4, U: 2}))

    assert loads(found) == {"a": 2, "b": 2, "c": 2} or loads(found) == {"a": 3, "b": 1, "c": 2}


def test_uniform_moves_partitions_off_a_member_that_others_can_relieve() -> None:
    before: Assignment = {"a": {T: frozenset(range(6))}, "b": {}}

    found = assign_uniform(spec({"a": {T}, "b": {T, U}}, {T: 6, U: 0}, before))

    assert loads(found) == {"a": 3, "b": 3}


# Both

topics = st.sets(st.sampled_from([T, U, V]))
groups = st.dictionaries(st.sampled_from("abcdef"), topics, min_size=1)
counts = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in (T, U, V)})


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS.keys())
@settings(deadline=None)
@given(first=groups, second=groups, before_counts=counts, after_counts=counts)
def test_every_partition_that_is_read_is_in_one_members_hands(
    assign: Callable[[Spec], Assignment],
    first: dict[str, set[bytes]],
    second: dict[str, set[bytes]],
    before_counts: dict[bytes, int],
    after_counts: dict[bytes, int],
) -> None:
    before = assign(spec(first, before_counts))

    after = assign(spec(second, after_counts, before))

    read = set.union(*second.values())
    wanted = [(t, i) for t in sorted(read) for i in range(after_counts[t])]
    found = [
        (t, i) for mine in after.values() for t, indexes in mine.items() for i in sorted(indexes)
    ]
    assert sorted(found) == wanted
    assert all(set(mine) <= second[name] for name, mine in after.items())
    assert all(indexes for mine in after.values() for indexes in mine.values())
    assert assign(spec(second, after_counts, before)) == after
    assert assign(spec(second, after_counts, after)) == after, "stable when nothing changes"


@settings(deadline=None)
@given(groups, counts, counts, st.sets(st.sampled_from([T, U, V]), min_size=1))
def test_uniform_is_fair_among_members_that_read_the_same(
    names: dict[str, set[bytes]],
    before_counts: dict[bytes, int],
    after_counts: dict[bytes, int],
    reads: set[bytes],
) -> None:
    members = dict.fromkeys(names, reads)
    before = assign_uniform(spec(members, before_counts))

    found = loads(assign_uniform(spec(members, after_counts, before)))

    assert max(found.values()) - min(found.values()) <= 1


@settings(deadline=None)
@given(groups, counts)
def test_uniform_can_be_made_no_fairer_by_one_move(
    members: dict[str, set[bytes]], partitions: dict[bytes, int]
) -> None:
    found = assign_uniform(spec(members, partitions))
    load = loads(found)

    for name, mine in found.items():
        for topic in mine:
            for other, reads in members.items():
                if topic in reads:
                    assert load[name] <= load.get(other, 0) + 1

"""Members that keep what they have: only their epoch is new, its record is made the short way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from group_machine import GROUP, GroupMachine, topic, topic_id
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import Member, MemberState
from barnabas.coordinator.group.consumer.moving import MovingRecords, move_on
from barnabas.coordinator.runtime_codec import encode, rest_of

T = topic_id("t")


@pytest.fixture
def machine() -> GroupMachine:
    """`a` has both partitions; `idle` comes and goes, and makes new epochs."""
    machine = GroupMachine([topic("t", 2), topic("u", 1)])
    machine.consume("a", names=["t"])
    machine.consume("idle", names=["v"])
    return machine


def group_of(machine: GroupMachine) -> ConsumerGroup:
    group = machine.shard.state.consumer(GROUP)
    assert group is not None
    return group


def new_epoch(machine: GroupMachine) -> None:
    """What `a` should have stays the same."""
    machine.consume("idle", -1)
    machine.advance(2_000)
    machine.consume("idle", names=["v"])
    machine.advance(2_000)


def test_the_record_is_the_one_that_the_long_way_makes(machine: GroupMachine) -> None:
    group = group_of(machine)
    member = group.members["a"]

    moved = move_on(group, member)

    assert moved is not None
    after, records = moved
    record = records.of(after)
    assert (member.epoch, after.epoch, after.previous_epoch) == (1, 2, 1)
    assert record.value == after.to_current()
    assert encode(record) == encode(replace(record, wire=None))
    assert records.rest(after) == rest_of(encode(record))


FIRST_VALUE = "\0\0\0\0\0\1\0\0\0\0\0\1\1\0"
"""The value of a member without partitions in its first epoch: an id may hold its bytes, too."""
partitions = st.frozensets(st.integers(0, 9), min_size=1)


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.dictionaries(st.binary(min_size=16, max_size=16), partitions),
    st.integers(0, 2**31 - 1),
)
@example(FIRST_VALUE, "m", {}, 2)
@example("g", f"m{FIRST_VALUE}", {}, 2)
def test_whatever_the_names_are_the_bytes_are_those_of_the_record(
    group_id: str, member_id: str, assigned: dict[bytes, frozenset[int]], epoch: int
) -> None:
    member = Member(member_id, epoch=1, previous_epoch=0, assigned=assigned)
    records = MovingRecords(group_id, member)

    after = member._replace(epoch=epoch)

    record = records.of(after)
    assert encode(record) == encode(replace(record, wire=None))
    assert records.rest(after) == rest_of(encode(record))


def test_a_log_of_such_records_makes_the_same_group(machine: GroupMachine) -> None:
    for _ in range(3):
        epoch = group_of(machine).members["a"].epoch
        assert machine.consume("a", epoch).assignment is None
        assert group_of(machine).members["a"].epoch == group_of(machine).target_epoch > epoch
        assert machine.copy_from(machine.log.batches).dump() == machine.shard.dump()
        new_epoch(machine)


def test_a_member_that_left_is_forgotten(machine: GroupMachine) -> None:
    machine.consume("a", 1)
    assert set(group_of(machine).moving) == {"a"}

    machine.consume("a", -1)

    assert group_of(machine).moving == {}


def test_who_has_more_to_do_does_not_take_the_short_way(machine: GroupMachine) -> None:
    group = group_of(machine)
    member = group.members["a"]

    assert move_on(group, member._replace(state=MemberState.UNRELEASED)) is None
    assert move_on(group, member._replace(assigned={T: frozenset({0})})) is None
    assert move_on(group, member._replace(names=("u",))) is None


def test_what_members_read_is_looked_up_again_when_topics_change(machine: GroupMachine) -> None:
    group = group_of(machine)
    assert move_on(group, group.members["a"]) is not None
    assert group.subscribed

    machine.topics.put(topic("t", 3))
    machine.coordinator.topics_changed(
        changed=frozenset({"t"}), deleted=frozenset(), now_ms=machine.now_ms
    )
    machine.consume("a", 1)

    assert not group_of(machine).subscribed


def test_what_members_no_longer_read_is_forgotten(machine: GroupMachine) -> None:
    for number in range(20):
        epoch = group_of(machine).members["a"].epoch
        machine.consume("a", epoch, names=["t", f"missing-{number}"], owned={"t": [0, 1]})
        new_epoch(machine)
        machine.consume("a", group_of(machine).members["a"].epoch)

    assert len(group_of(machine).subscribed) <= 2

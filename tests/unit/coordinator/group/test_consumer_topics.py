"""Consumer groups: static members, topics that change, patterns, and the pace of assignments."""

from __future__ import annotations

from group_machine import GROUP, GroupMachine, given, topic

from barnabas.base.errors import ErrorCode as E
from barnabas.coordinator.group.config import GroupConfig
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import Member
from barnabas.coordinator.group.consumer.target import assign
from barnabas.protocol.messages import group_records as gr

# Static members


def test_a_static_member_that_left_for_now_comes_back_to_its_partitions() -> None:
    machine = GroupMachine([topic("t", 4)])
    machine.consume("a1", names=["t"], instance="i")
    machine.consume("b", names=["t"])
    machine.consume("a1", 1, owned={"t": [0, 1]}, instance="i")
    machine.consume("b", 2)

    reply = machine.consume("a1", -2, instance="i")
    assert reply.member_epoch == -2
    assert machine.consume("b", 2).assignment is None, "nobody else gets them"
    back = machine.consume("a2", names=["t"], instance="i")

    assert (back.member_epoch, given(back)) == (2, {"t": [0, 1]})
    assert machine.describe_consumer().group_epoch == 2, "no rebalance"


def test_a_static_member_that_does_not_come_back_is_removed() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], instance="i")
    machine.consume("a", -2, instance="i")

    machine.advance(45_000)

    assert machine.describe_consumer().members == []


def test_an_instance_id_that_is_in_use_is_not_given_away() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], instance="i")

    reply = machine.consume("b", names=["t"], instance="i")

    assert reply.error_code == E.UNRELEASED_INSTANCE_ID


def test_a_static_member_that_was_replaced_is_fenced() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], instance="i")
    machine.consume("a", -2, instance="i")
    machine.consume("b", names=["t"], instance="i")

    assert machine.consume("a", 1, instance="i").error_code == E.FENCED_INSTANCE_ID
    assert machine.consume("a", -1, instance="i").error_code == E.FENCED_INSTANCE_ID
    assert machine.consume("b", 1, instance="other").error_code == E.UNKNOWN_MEMBER_ID
    assert machine.consume("b", -1, instance="other").error_code == E.UNKNOWN_MEMBER_ID


def test_a_static_join_whose_answer_was_lost_can_be_repeated() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], instance="i")

    reply = machine.consume("a", names=["t"], instance="i")

    assert given(reply) == {"t": [0, 1]}


def test_a_static_member_can_leave_for_good() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], instance="i")

    machine.consume("a", -1, instance="i")

    assert machine.consume("b", names=["t"], instance="i").error_code == E.NONE


# Topics


def change(machine: GroupMachine, *names: str, deleted: bool = False) -> None:
    changed = frozenset(() if deleted else names)
    gone = frozenset(names if deleted else ())
    machine.coordinator.topics_changed(changed=changed, deleted=gone, now_ms=machine.now_ms)


def test_partitions_that_are_added_are_assigned_with_the_next_heartbeat() -> None:
    machine = GroupMachine([topic("t", 1)])
    machine.consume("a", names=["t"])
    machine.topics.put(topic("t", 3))
    change(machine, "t")

    reply = machine.consume("a", 1)

    assert (reply.member_epoch, given(reply)) == (2, {"t": [0, 1, 2]})


def test_a_topic_that_is_created_later_is_found() -> None:
    machine = GroupMachine()
    assert given(machine.consume("a", names=["t"])) == {}
    machine.topics.put(topic("t", 1))
    change(machine, "t")

    assert given(machine.consume("a", 1)) == {"t": [0]}


def test_a_topic_that_is_deleted_goes_with_its_offsets() -> None:
    machine = GroupMachine([topic("t", 1), topic("u", 1)])
    machine.consume("a", names=["t", "u"])
    for name in ("t", "u"):
        machine.commit(5, topic=name, member="a", epoch=1)
    machine.topics.remove("u")
    change(machine, "u", deleted=True)

    assert machine.fetch(topic="u") == (-1, 0)
    assert machine.fetch(topic="t") == (5, 0)
    assert given(machine.consume("a", 1)) == {"t": [0]}


def test_topics_are_looked_at_again_after_an_hour_even_if_nobody_told() -> None:
    machine = GroupMachine([topic("t", 1)])
    machine.consume("a", names=["t"])
    machine.consume("a", 1)
    machine.topics.put(topic("t", 2))
    assert machine.consume("a", 1).assignment is None
    for _ in range(100):
        machine.advance(36_000)
        reply = machine.consume("a", 1)
        if reply.assignment is not None:
            break

    assert given(reply) == {"t": [0, 1]}


# Patterns


def test_a_pattern_finds_the_topics_there_are_and_those_that_come() -> None:
    machine = GroupMachine([topic("ta", 1), topic("tb", 1), topic("u", 1)])
    assert given(machine.consume("a", regex="t.")) == {"ta": [0], "tb": [0]}
    machine.topics.put(topic("tc", 1))
    change(machine, "tc")
    assert machine.consume("a", 1).assignment is None, "not more often than every ten seconds"

    machine.advance(10_001)

    assert given(machine.consume("a", 1)) == {"ta": [0], "tb": [0], "tc": [0]}


def test_a_pattern_that_is_none_is_refused() -> None:
    machine = GroupMachine()

    reply = machine.consume("a", regex="(t")

    assert reply.error_code == E.INVALID_REGULAR_EXPRESSION
    assert machine.shard.state.groups == {}
    assert machine.log.batches == []


def test_a_pattern_and_names_add_up() -> None:
    machine = GroupMachine([topic("t", 1), topic("u", 1), topic("v", 1)])

    assert given(machine.consume("a", names=["u"], regex="t|v")) == {"t": [0], "u": [0], "v": [0]}


def test_a_pattern_is_forgotten_with_its_last_member() -> None:
    machine = GroupMachine([topic("t", 1)])
    machine.consume("a", regex="t")
    machine.consume("b", regex="t")
    group = machine.shard.state.consumer(GROUP)
    assert group is not None
    machine.consume("a", -1)
    assert list(group.regexes) == ["t"]

    machine.consume("b", 2, names=[], regex="", rebalance_ms=60_000)

    assert group.regexes == {}
    assert group.subscribed_topics() == set()


def test_internal_topics_are_topics_like_others_to_a_pattern() -> None:
    machine = GroupMachine([topic("__consumer_offsets", 1), topic("t", 1)])

    found = given(machine.consume("a", regex=".*"))

    assert found == {"__consumer_offse": [0], "t": [0]}, "ids have sixteen characters"


# The pace of assignments


def test_assignments_are_not_made_more_often_than_the_interval_allows() -> None:
    config = GroupConfig(consumer_assignment_interval_ms=1_000)
    machine = GroupMachine([topic("t", 2)], config=config)
    machine.consume("a", names=["t"])
    machine.consume("a", 1)
    machine.consume("a", 1, names=["t", "x"], rebalance_ms=60_000)

    first = machine.consume("b", names=["t"])
    assert machine.describe_consumer().group_state == "Assigning"
    machine.advance(1_000)
    assert machine.describe_consumer().assignment_epoch == machine.describe_consumer().group_epoch

    assert given(first) == {}
    assert given(machine.consume("a", 2)) == {"t": [0]}


def test_of_a_target_only_what_changes_is_written_in_the_order_of_the_members() -> None:
    """Members that read different topics: their part of the target is made anew each time."""
    group = ConsumerGroup(GROUP)
    members = {"b": ("t",), "a": ("t", "u"), "c": ("u",)}
    for member_id, names in members.items():
        group.members[member_id] = Member(member_id=member_id, names=names)
    group.topics = {name: topic(name, 4) for name in ("t", "u")}
    state = GroupMachine([topic("t", 4), topic("u", 4)]).shard.state
    first, again = Draft(group), Draft(group)

    assign(state, first)
    for record in first.records:
        group.replay(record)
    assign(state, again)

    written = [record.key for record in first.records]
    assert written[:-1] == [
        gr.ConsumerGroupTargetAssignmentMemberKey(group_id=GROUP, member_id=m) for m in "abc"
    ]
    assert [record.key for record in again.records] == written[-1:], "the epoch"

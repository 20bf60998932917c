"""ConsumerGroupHeartbeat (KIP-848): joining, reconciling, fencing, leaving."""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine, given, topic, topic_id

from barnabas.base.errors import ErrorCode as E
from barnabas.coordinator.group import records
from barnabas.coordinator.group.config import GroupConfig, GroupSettings
from barnabas.coordinator.group.consumer.member import Member, MemberState
from barnabas.coordinator.group.events import Call
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

T = topic_id("t")
MUST_BE_THERE = "must be non-null when (re-)joining."


def two_members() -> GroupMachine:
    """`a` has partitions 0 and 1, `b` has 2 and 3, both at epoch 2."""
    machine = GroupMachine([topic("t", 4)])
    machine.consume("a", names=["t"])
    machine.consume("b", names=["t"])
    machine.consume("a", 1, owned={"t": [0, 1]})
    machine.consume("b", 2, owned={"t": []})
    assert machine.describe_consumer().group_state == "Stable"
    return machine


# Joining


def test_the_first_member_makes_the_group_its_epoch_and_its_target() -> None:
    machine = GroupMachine([topic("t", 2)])
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="a",
        member_epoch=0,
        rack_id="r",
        rebalance_timeout_ms=5_000,
        subscribed_topic_names=["t", "missing"],
        topic_partitions=[],
    )

    decision = machine.shard.decide(
        Call(request=request, version=1, client_id="app", client_host="/h"), ticket=1, now_ms=7
    )

    told = Member(
        member_id="a",
        rack_id="r",
        client_id="app",
        client_host="/h",
        rebalance_timeout_ms=5_000,
        names=("missing", "t"),
        epoch=1,
        assigned={T: frozenset({0, 1})},
    )
    assert decision == Decision(
        records=(
            records.consumer_member(GROUP, "a", told.to_metadata()),
            records.consumer_topics(GROUP, [topic("t", 2)]),
            records.consumer_epoch(GROUP, 1),
            records.consumer_target(GROUP, "a", {T: frozenset({0, 1})}),
            records.consumer_target_epoch(GROUP, 1),
            records.consumer_current(GROUP, "a", told.to_current()),
        ),
        reply=ConsumerGroupHeartbeatResponse(
            member_id="a",
            member_epoch=1,
            heartbeat_interval_ms=5_000,
            assignment=Assignment(
                topic_partitions=[TopicPartitions(topic_id=T, partitions=[0, 1])]
            ),
        ),
    )


def test_a_quiet_heartbeat_is_answered_without_an_assignment_and_writes_nothing() -> None:
    machine = two_members()
    machine.consume("a", 2)
    written = len(machine.log.batches)

    reply = machine.consume("a", 2)

    assert reply == ConsumerGroupHeartbeatResponse(
        member_id="a", member_epoch=2, heartbeat_interval_ms=5_000
    )
    assert len(machine.log.batches) == written


def test_up_to_version_0_the_coordinator_chooses_the_members_id() -> None:
    machine = GroupMachine([topic("t", 1)])

    assert machine.consume("", names=["t"], version=0).member_id == "id1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"topic_partitions": [TopicPartitions(topic_id=T, partitions=[0])]},
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topic_names": None},
            f"Either SubscribedTopicNames or SubscribedTopicRegex {MUST_BE_THERE}",
        ),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is -3, but must be greater than or equal to -2."),
    ],
)
def test_requests_that_contradict_themselves(change: dict[str, object], message: str) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="a",
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    for name, value in change.items():
        setattr(request, name, value)

    reply = GroupMachine([topic("t", 1)]).send(request).reply

    assert (reply.error_code, reply.error_message) == (E.INVALID_REQUEST, message)


def test_an_assignor_that_is_not_configured_is_refused() -> None:
    machine = GroupMachine([topic("t", 1)], config=GroupConfig(consumer_assignors=("range",)))

    reply = machine.consume("a", names=["t"], assignor="uniform")

    assert reply.error_code == E.UNSUPPORTED_ASSIGNOR


def test_a_group_takes_as_many_members_as_it_may() -> None:
    machine = GroupMachine([topic("t", 2)], config=GroupConfig(consumer_max_size=1))
    machine.consume("a", names=["t"])

    assert machine.consume("b", names=["t"]).error_code == E.GROUP_MAX_SIZE_REACHED
    assert machine.consume("a", names=["t"]).error_code == E.NONE


def test_the_protocol_can_be_switched_off() -> None:
    machine = GroupMachine(config=GroupConfig(serves_consumer_protocol=False))

    assert machine.consume("a", names=["t"]).error_code == E.UNSUPPORTED_VERSION


def test_heartbeats_to_nobody() -> None:
    machine = GroupMachine([topic("t", 1)])
    assert machine.consume("a", 1).error_code == E.GROUP_ID_NOT_FOUND
    assert machine.consume("a", -1).error_code == E.GROUP_ID_NOT_FOUND
    machine.consume("a", names=["t"])
    assert machine.consume("b", 1).error_code == E.UNKNOWN_MEMBER_ID
    assert machine.consume("b", -1).error_code == E.UNKNOWN_MEMBER_ID


# Reconciling


def test_partitions_change_hands_only_after_they_were_given_up() -> None:
    machine = GroupMachine([topic("t", 4)])
    assert given(machine.consume("a", names=["t"])) == {"t": [0, 1, 2, 3]}

    joined = machine.consume("b", names=["t"])
    assert (joined.member_epoch, given(joined)) == (2, {}), "all are in a's hands"

    asked = machine.consume("a", 1)
    assert (asked.member_epoch, given(asked)) == (1, {"t": [0, 1]}), "keep these, give up others"
    assert machine.consume("b", 2).assignment is None

    done = machine.consume("a", 1, owned={"t": [0, 1]})
    assert done.member_epoch == 2
    assert given(machine.consume("b", 2)) == {"t": [2, 3]}


def test_a_member_that_still_owns_what_it_must_give_up_does_not_move_on() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"])
    machine.consume("b", names=["t"])

    assert machine.consume("a", 1, owned={"t": [0, 1]}).member_epoch == 1
    assert machine.consume("a", 1, owned={"t": [0]}).member_epoch == 2


def test_a_full_request_is_answered_with_the_assignment() -> None:
    machine = two_members()

    reply = machine.consume("a", 2, names=["t"], owned={"t": [0, 1]}, rebalance_ms=60_000)

    assert given(reply) == {"t": [0, 1]}


def test_a_new_subscription_is_a_new_epoch_and_unread_topics_are_given_up_first() -> None:
    machine = GroupMachine([topic("t", 2), topic("u", 2)])
    machine.consume("a", names=["t"])

    reply = machine.consume("a", 1, names=["u"], rebalance_ms=60_000)

    assert (reply.member_epoch, given(reply)) == (1, {})
    reply = machine.consume("a", 1, owned={})
    assert (reply.member_epoch, given(reply)) == (2, {"u": [0, 1]})


def test_epochs_that_do_not_fit_are_fenced() -> None:
    machine = two_members()

    assert machine.consume("a", 3).error_code == E.FENCED_MEMBER_EPOCH
    assert machine.consume("a", 1, owned={"t": [3]}).error_code == E.FENCED_MEMBER_EPOCH
    assert machine.consume("a", 1).error_code == E.FENCED_MEMBER_EPOCH, "it must tell what it owns"


def test_a_member_whose_answer_was_lost_may_be_one_epoch_behind() -> None:
    machine = two_members()

    reply = machine.consume("a", 1, owned={"t": [0, 1]})

    assert (reply.error_code, reply.member_epoch) == (E.NONE, 2)


def test_a_member_that_joins_again_keeps_its_place() -> None:
    machine = two_members()

    reply = machine.consume("a", names=["t"])

    assert (reply.member_epoch, given(reply)) == (2, {"t": [0, 1]})
    assert machine.describe_consumer().group_epoch == 2


def test_a_member_that_does_not_give_up_in_time_is_fenced() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], rebalance_ms=7_000)
    machine.consume("b", names=["t"])
    machine.consume("a", 1)
    machine.advance(6_999)
    assert machine.consume("a", 1).error_code == E.NONE

    machine.advance(1)

    assert machine.consume("a", 1).error_code == E.UNKNOWN_MEMBER_ID
    assert given(machine.consume("b", 2)) == {"t": [0, 1]}


def test_giving_up_in_time_stops_the_clock() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], rebalance_ms=7_000)
    machine.consume("b", names=["t"])
    machine.consume("a", 1)

    machine.consume("a", 1, owned={"t": [0]})
    machine.advance(20_000)

    assert machine.consume("a", 2).error_code == E.NONE


# Staying and leaving


def test_a_silent_member_is_removed_and_its_partitions_go_to_others() -> None:
    machine = two_members()
    machine.advance(44_999)
    assert machine.consume("b", 2).error_code == E.NONE

    machine.advance(1)

    assert machine.consume("a", 2).error_code == E.UNKNOWN_MEMBER_ID
    reply = machine.consume("b", 2)
    assert (reply.member_epoch, given(reply)) == (3, {"t": [0, 1, 2, 3]})


def test_a_member_that_leaves_is_gone_at_once() -> None:
    machine = two_members()

    reply = machine.consume("a", -1)

    assert (reply.member_id, reply.member_epoch) == ("a", -1)
    assert given(machine.consume("b", 2)) == {"t": [0, 1, 2, 3]}


def test_the_group_outlives_its_members_and_its_epoch_goes_on() -> None:
    machine = two_members()
    machine.consume("a", -1)
    machine.consume("b", -1)

    described = machine.describe_consumer()
    assert (described.group_state, described.group_epoch, described.members) == ("Empty", 4, [])
    assert machine.consume("c", names=["t"]).member_epoch == 5


def test_a_groups_own_settings_win() -> None:
    machine = GroupMachine([topic("t", 1)])
    machine.shard.state.settings_of = lambda group: GroupSettings(
        session_timeout_ms=50_000, heartbeat_interval_ms=9_000, assignment_interval_ms=0
    )

    assert machine.consume("a", names=["t"]).heartbeat_interval_ms == 9_000
    machine.advance(49_999)
    assert machine.consume("a", 1).error_code == E.NONE


# Records of a later release


def test_a_member_in_a_state_from_the_future_starts_from_nothing() -> None:
    machine = two_members()
    group = machine.shard.state.consumer(GROUP)
    assert group is not None
    value = group.members["a"].to_current()
    value.state = 99
    group.replay(records.consumer_current(GROUP, "a", value))
    assert group.members["a"].state is MemberState.UNKNOWN

    assert machine.consume("a", 2, owned={"t": [0]}).error_code == E.FENCED_MEMBER_EPOCH
    assert given(machine.consume("a", names=["t"])) == {"t": [0, 1]}

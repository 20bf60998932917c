"""JoinGroup: the handshake, who is let in, and when a generation begins."""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine

from barnabas.base.errors import ErrorCode as E
from barnabas.coordinator.group.config import GroupConfig
from barnabas.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember


def test_a_new_member_is_given_its_id_first() -> None:
    machine = GroupMachine()

    reply = machine.join(client_id="app").reply

    assert reply == JoinGroupResponse(
        error_code=E.MEMBER_ID_REQUIRED, member_id="app-id1", protocol_name=None
    )


def test_before_version_4_a_member_joins_without_an_id() -> None:
    machine = GroupMachine()
    join = machine.join(version=3)
    assert join.waits

    machine.advance(100)

    assert join.reply.member_id == "c-id1"
    assert join.reply.leader == "c-id1"


def test_the_first_generation_waits_for_others_and_the_leader_sees_them() -> None:
    machine = GroupMachine(config=GroupConfig(initial_rebalance_delay_ms=3_000))
    first_id, first = machine.new_member(protocols=[("range", b"1")])
    machine.advance(2_000)
    second_id, second = machine.new_member(protocols=[("range", b"2")])
    machine.advance(1_000)
    assert first.waits, "someone came, so the delay begins anew"

    machine.advance(3_000)

    assert first.reply == JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=first_id,
        member_id=first_id,
        members=[
            JoinGroupResponseMember(member_id=first_id, metadata=b"1"),
            JoinGroupResponseMember(member_id=second_id, metadata=b"2"),
        ],
    )
    assert second.reply.members == []
    assert second.reply.leader == first_id


def test_the_initial_delay_ends_with_the_rebalance_timeout() -> None:
    machine = GroupMachine(config=GroupConfig(initial_rebalance_delay_ms=3_000))
    _, first = machine.new_member(rebalance_ms=7_000)
    for _ in range(6):
        machine.advance(1_000)
        machine.new_member(rebalance_ms=7_000)
    assert first.waits

    machine.advance(1_000)

    assert not first.waits


def test_without_a_delay_the_first_member_gets_its_generation_at_once() -> None:
    machine = GroupMachine(config=GroupConfig(initial_rebalance_delay_ms=0))

    _, join = machine.new_member()

    assert join.reply.generation_id == 1


def test_an_id_that_nobody_gave_out_is_unknown() -> None:
    machine = GroupMachine()
    assert machine.join("made-up").error == E.UNKNOWN_MEMBER_ID
    machine.stable_group()
    assert machine.join("made-up").error == E.UNKNOWN_MEMBER_ID


def test_an_id_that_was_given_out_is_forgotten_after_the_session_timeout() -> None:
    machine = GroupMachine()
    member_id = machine.join(session_ms=6_000).reply.member_id

    machine.advance(6_000)

    assert machine.join(member_id).error == E.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_ids_that_were_given_out() -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group()
    given = machine.join().reply.member_id
    rejoin = machine.join(member_id)
    assert rejoin.waits

    newcomer = machine.join(given)

    assert rejoin.reply.generation_id == newcomer.reply.generation_id == generation + 1


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", [("range", b"")]), ("consumer", [])])
def test_a_member_must_say_what_it_speaks(
    protocol_type: str, protocols: list[tuple[str, bytes]]
) -> None:
    machine = GroupMachine()

    join = machine.join(protocol_type=protocol_type, protocols=protocols)

    assert join.error == E.INCONSISTENT_GROUP_PROTOCOL
    assert GROUP not in machine.shard.state.groups


def test_a_member_must_speak_what_the_group_speaks() -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group(protocols=[("range", b""), ("sticky", b"")])

    assert machine.join(protocols=[("other", b"")]).error == E.INCONSISTENT_GROUP_PROTOCOL
    assert machine.join(protocol_type="connect").error == E.INCONSISTENT_GROUP_PROTOCOL
    assert machine.join(protocols=[("sticky", b"")]).error == E.MEMBER_ID_REQUIRED
    refused = machine.join(member_id, protocols=[("other", b"")])
    assert refused.error == E.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_is_the_one_that_all_know_and_most_prefer() -> None:
    machine = GroupMachine()
    offers = (
        [("a", b"1"), ("b", b"2")],
        [("b", b"3"), ("a", b"4")],
        [("c", b""), ("b", b"5"), ("a", b"6")],
    )
    joins = [machine.new_member(protocols=offer, protocol_type="x")[1] for offer in offers]

    machine.advance(1_000)

    assert {join.reply.protocol_name for join in joins} == {"b"}
    assert [m.metadata for m in joins[0].reply.members] == [b"2", b"3", b"5"]


def test_a_follower_that_joins_again_unchanged_stays_in_its_generation() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)

    reply = machine.join(follower).reply

    assert (reply.generation_id, reply.leader, reply.members) == (generation, leader, [])
    assert machine.describe().group_state == "Stable"


def test_a_follower_with_other_metadata_starts_a_rebalance() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)

    join = machine.join(follower, protocols=[("range", b"new")])

    assert join.waits
    assert machine.heartbeat(leader, generation) == E.REBALANCE_IN_PROGRESS
    machine.join(leader)
    assert join.reply.generation_id == generation + 1


def test_a_leader_that_joins_again_starts_a_rebalance_even_unchanged() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)

    join = machine.join(leader)

    assert join.waits
    assert machine.describe().group_state == "PreparingRebalance"
    machine.join(follower)
    assert join.reply.generation_id == generation + 1


def test_a_join_that_is_repeated_while_the_assignment_is_awaited_gets_the_same_answer() -> None:
    machine = GroupMachine()
    member_id, first = machine.new_member()
    machine.advance(100)

    assert machine.join(member_id).reply == first.reply


def test_a_join_that_is_repeated_while_it_waits_replaces_the_first() -> None:
    machine = GroupMachine()
    _, (leader, follower) = machine.stable_group(2)
    first = machine.join(leader)
    second = machine.join(leader)

    machine.join(follower)

    assert first.error == E.REBALANCE_IN_PROGRESS
    assert second.error == E.NONE


def test_who_does_not_join_in_time_is_left_behind() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2, rebalance_ms=8_000, session_ms=30_000)
    join = machine.join(leader, rebalance_ms=8_000, session_ms=30_000)

    machine.advance(7_999)
    assert join.waits
    machine.advance(1)

    assert [m.member_id for m in join.reply.members] == [leader]
    assert machine.heartbeat(follower, generation) == E.UNKNOWN_MEMBER_ID


def test_the_next_leader_is_one_that_has_joined() -> None:
    machine = GroupMachine()
    _, (leader, follower) = machine.stable_group(2, rebalance_ms=8_000, session_ms=30_000)
    join = machine.join(follower, protocols=[("range", b"new")], rebalance_ms=8_000)

    machine.advance(8_000)

    assert join.reply.leader == follower != leader


def test_a_group_takes_as_many_members_as_it_may() -> None:
    machine = GroupMachine(config=GroupConfig(max_size=2, initial_rebalance_delay_ms=100))
    _, (leader, _) = machine.stable_group(2)

    assert machine.join().error == E.GROUP_MAX_SIZE_REACHED
    assert machine.join(instance="i").error == E.GROUP_MAX_SIZE_REACHED
    assert machine.join(leader).waits, "members are let in"


def test_the_last_to_join_a_group_that_is_too_big_are_turned_away() -> None:
    """The limit was lowered: whoever joins first stays."""
    machine = GroupMachine()
    _, ids = machine.stable_group(3)
    machine.shard.state.config = GroupConfig(max_size=2)
    first = machine.join(ids[0])
    second = machine.join(ids[1])

    third = machine.join(ids[2])

    assert third.error == E.GROUP_MAX_SIZE_REACHED
    assert first.reply.generation_id == second.reply.generation_id == 2


def test_a_new_member_that_waits_too_long_is_told_to_start_anew() -> None:
    """A join that nobody listens to any more must not hold up the group for ever."""
    machine = GroupMachine(config=GroupConfig(initial_rebalance_delay_ms=400_000))
    _, join = machine.new_member(rebalance_ms=1_000_000, session_ms=6_000)

    machine.advance(5 * 60 * 1000)

    assert join.error == E.UNKNOWN_MEMBER_ID
    machine.advance(200_000)
    assert machine.describe().group_state == "Empty"


def test_a_member_whose_join_waits_has_an_excuse_for_its_silence() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2, session_ms=6_000)
    join = machine.join(leader, session_ms=6_000)
    for _ in range(8):
        machine.advance(5_000)
        assert machine.heartbeat(follower, generation) == E.REBALANCE_IN_PROGRESS
    assert join.waits

    machine.join(follower, session_ms=6_000)

    assert join.error == E.NONE
    machine.advance(5_999)
    assert machine.describe().group_state == "CompletingRebalance"
    machine.advance(1)
    assert machine.describe().group_state == "Empty", "its session began anew with the answer"


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_timeouts_have_limits(session_ms: int) -> None:
    assert GroupMachine().join(session_ms=session_ms).error == E.INVALID_SESSION_TIMEOUT


def test_a_group_must_have_a_name_to_be_joined() -> None:
    assert GroupMachine().join(group="").error == E.INVALID_GROUP_ID


def test_the_rebalance_timeout_of_version_0_is_the_session_timeout() -> None:
    machine = GroupMachine()
    machine.join(rebalance_ms=-1, session_ms=7_000, version=0)

    group = machine.shard.state.classic(GROUP)
    assert group is not None
    assert group.rebalance_timeout_ms == 7_000


def test_failed_joins_name_no_protocol_since_version_7() -> None:
    machine = GroupMachine()

    assert machine.join("nobody", version=7).reply.protocol_name is None
    assert machine.join("nobody", version=6).reply.protocol_name == ""

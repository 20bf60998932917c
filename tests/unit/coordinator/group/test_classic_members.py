"""SyncGroup, Heartbeat and LeaveGroup to classic groups."""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine

from barnabas.base.errors import ErrorCode as E
from barnabas.coordinator.group.events import Call
from barnabas.coordinator.group.records import group_metadata
from barnabas.coordinator.runtime_types import Answer, Decision
from barnabas.protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from barnabas.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)


def completing(count: int = 2) -> tuple[GroupMachine, int, list[str]]:
    """A group whose members have joined and await their assignment; the first leads."""
    machine = GroupMachine()
    joins = [machine.new_member() for _ in range(count)]
    machine.advance(1_000)
    return machine, joins[0][1].reply.generation_id, [member_id for member_id, _ in joins]


# SyncGroup


def test_the_leaders_assignment_is_one_record_and_an_answer_to_everyone() -> None:
    machine, generation, (leader, follower) = completing()
    machine.sync(follower, generation)
    group = machine.shard.state.classic(GROUP)
    assert group is not None
    waiting = group.members[follower].sync_ticket
    assert waiting is not None
    request = SyncGroupRequest(
        group_id=GROUP,
        generation_id=generation,
        member_id=leader,
        assignments=[
            SyncGroupRequestAssignment(member_id=leader, assignment=b"L"),
            SyncGroupRequestAssignment(member_id=follower, assignment=b"F"),
        ],
    )

    decision = machine.shard.decide(
        Call(request=request, version=5), ticket=99, now_ms=machine.now_ms
    )

    member = {
        "client_id": "c",
        "client_host": "/127.0.0.1",
        "rebalance_timeout": 60_000,
        "session_timeout": 10_000,
        "subscription": b"meta",
    }
    stored = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="range",
        leader=leader,
        current_state_timestamp=machine.now_ms,
        members=[
            MemberMetadata(member_id=leader, assignment=b"L", **member),
            MemberMetadata(member_id=follower, assignment=b"F", **member),
        ],
    )
    answer = {"protocol_type": "consumer", "protocol_name": "range"}
    assert decision == Decision(
        records=(group_metadata(GROUP, stored),),
        answers=(
            Answer(99, SyncGroupResponse(assignment=b"L", **answer)),
            Answer(waiting, SyncGroupResponse(assignment=b"F", **answer)),
        ),
    )


def test_assignments_leave_when_they_are_committed() -> None:
    machine, generation, (leader, follower) = completing()
    machine.log.hold = True
    follows = machine.sync(follower, generation)
    leads = machine.sync(leader, generation, {leader: b"L"})
    assert leads.waits
    assert follows.waits

    machine.log.release()

    assert leads.reply.assignment == b"L"
    assert follows.reply.assignment == b"", "the leader left it out"


def test_a_stable_group_hands_out_its_assignment_again() -> None:
    machine = GroupMachine()
    generation, (_, follower) = machine.stable_group(2)

    assert machine.sync(follower, generation).reply.assignment == follower.encode()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"generation": 7}, E.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, E.UNKNOWN_MEMBER_ID),
        ({"instance": "i"}, E.UNKNOWN_MEMBER_ID),
        ({"protocol_name": "other"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"group": ""}, E.INVALID_GROUP_ID),
        ({"group": "other"}, E.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_sync_must_be_of_the_generation_and_its_protocol(
    change: dict[str, object], code: E
) -> None:
    machine, generation, (leader, _) = completing()
    arguments: dict[str, object] = {"member_id": leader, "generation": generation, **change}

    assert machine.sync(**arguments).error == code  # type: ignore[arg-type]


def test_a_sync_need_not_name_the_protocol_before_version_5() -> None:
    machine, generation, (leader, _) = completing()

    sync = machine.sync(leader, generation, protocol_type=None, protocol_name=None, version=4)

    assert sync.error == E.NONE


def test_a_sync_during_a_rebalance_is_told_to_join() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)
    machine.join(leader)

    assert machine.sync(follower, generation).error == E.REBALANCE_IN_PROGRESS


def test_syncs_that_wait_are_told_of_the_next_rebalance() -> None:
    machine, generation, (leader, follower) = completing()
    sync = machine.sync(follower, generation)
    assert sync.waits

    machine.new_member()

    assert sync.error == E.REBALANCE_IN_PROGRESS
    assert machine.heartbeat(leader, generation) == E.REBALANCE_IN_PROGRESS


def test_a_sync_that_is_repeated_replaces_the_first() -> None:
    machine, generation, (leader, follower) = completing()
    first = machine.sync(follower, generation)
    second = machine.sync(follower, generation)

    machine.sync(leader, generation, {follower: b"F"})

    assert first.error == E.REBALANCE_IN_PROGRESS
    assert second.reply.assignment == b"F"


def test_who_joined_but_does_not_sync_in_time_is_left_behind() -> None:
    machine, generation, (leader, follower) = completing()
    machine.sync(leader, generation, {leader: b"L"})
    for _ in range(10):
        machine.advance(6_000)
        if machine.heartbeat(leader, generation) == E.REBALANCE_IN_PROGRESS:
            break
        machine.heartbeat(follower, generation)

    assert machine.heartbeat(follower, generation) == E.UNKNOWN_MEMBER_ID
    assert machine.join(leader).reply.generation_id == generation + 1


# Heartbeat


def test_a_heartbeat_changes_nothing_but_the_session() -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group()
    request = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id=member_id)

    decision = machine.shard.decide(Call(request=request, version=4), ticket=1, now_ms=5)

    assert decision == Decision(reply=HeartbeatResponse())


def test_a_member_lives_as_long_as_it_is_heard_of() -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group(session_ms=10_000)
    for _ in range(5):
        machine.advance(9_999)
        assert machine.heartbeat(member_id, generation) == E.NONE

    machine.advance(10_000)

    assert machine.heartbeat(member_id, generation) == E.UNKNOWN_MEMBER_ID
    assert machine.describe().group_state == "Empty"


def test_the_log_shows_a_dead_member_go_and_the_rebalance_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group(session_ms=10_000)
    caplog.set_level("INFO", "barnabas.coordinator")
    caplog.clear()

    machine.advance(10_000)

    assert [record.getMessage() for record in caplog.records] == [
        f"group {GROUP}: member {member_id} removed: silent for 10000 ms",
        f"group {GROUP}: rebalance, generation {generation} ends",
        f"group {GROUP}: generation {generation + 1} begins, members: 0",
    ]


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        ("nobody", 1, E.UNKNOWN_MEMBER_ID),
        (None, 0, E.ILLEGAL_GENERATION),
        (None, 2, E.ILLEGAL_GENERATION),
    ],
)
def test_heartbeats_are_fenced(member: str | None, generation: int, code: E) -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()

    assert machine.heartbeat(member or member_id, generation) == code


def test_heartbeats_to_no_group() -> None:
    machine = GroupMachine()

    assert machine.heartbeat("m", 1) == E.UNKNOWN_MEMBER_ID
    assert machine.heartbeat("m", 1, group="") == E.INVALID_GROUP_ID


def test_heartbeats_are_taken_blindly_while_groups_are_loaded() -> None:
    machine = GroupMachine()
    machine.runtime.begin_load(0, epoch=9)

    assert machine.heartbeat("m", 1) == E.NONE
    assert machine.join().error == E.COORDINATOR_LOAD_IN_PROGRESS


# LeaveGroup


def test_a_member_that_leaves_starts_a_rebalance_and_the_last_one_ends_the_generation() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)

    reply = machine.leave((follower, None))

    assert reply == LeaveGroupResponse(
        members=[MemberResponse(member_id=follower, group_instance_id=None)]
    )
    assert machine.heartbeat(leader, generation) == E.REBALANCE_IN_PROGRESS
    machine.leave((leader, None))
    assert machine.describe().group_state == "Empty"
    assert machine.describe().protocol_type == "consumer"
    group = machine.shard.state.classic(GROUP)
    assert group is not None
    assert group.stored == GroupMetadataValue(
        protocol_type="consumer",
        generation=generation + 1,
        protocol=None,
        leader=None,
        current_state_timestamp=machine.now_ms,
    )


def test_each_member_of_a_leave_has_its_own_result() -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()

    reply = machine.leave((member_id, None), ("nobody", None), ("", "i"), ("", None))

    assert [m.error_code for m in reply.members] == [
        E.NONE,
        E.UNKNOWN_MEMBER_ID,
        E.UNKNOWN_MEMBER_ID,
        E.UNKNOWN_MEMBER_ID,
    ]


def test_a_leave_that_nobody_obeys_starts_no_rebalance() -> None:
    machine = GroupMachine()
    machine.stable_group()

    machine.leave(("nobody", None))

    assert machine.describe().group_state == "Stable"


def test_a_member_can_leave_while_its_join_waits() -> None:
    machine = GroupMachine()
    generation, (leader, follower) = machine.stable_group(2)
    join = machine.join(leader)

    machine.leave((leader, None))

    assert join.error == E.UNKNOWN_MEMBER_ID
    assert machine.join(follower).reply.generation_id == generation + 1


def test_an_id_that_was_given_out_can_be_given_back() -> None:
    machine = GroupMachine()
    given = machine.join().reply.member_id

    assert machine.leave((given, None)).members[0].error_code == E.NONE
    assert machine.join(given).error == E.UNKNOWN_MEMBER_ID


def test_up_to_version_2_the_error_is_the_responses() -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()

    unknown = machine.send(LeaveGroupRequest(group_id=GROUP, member_id="nobody"), version=2)
    left = machine.send(LeaveGroupRequest(group_id=GROUP, member_id=member_id), version=0)

    assert unknown.reply == LeaveGroupResponse(error_code=E.UNKNOWN_MEMBER_ID)
    assert left.reply == LeaveGroupResponse()


def test_leaving_no_group() -> None:
    machine = GroupMachine()

    assert machine.leave(("m", None)).members[0].error_code == E.UNKNOWN_MEMBER_ID
    assert machine.leave(("m", None), group="").error_code == E.INVALID_GROUP_ID

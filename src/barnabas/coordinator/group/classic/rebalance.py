"""Classic groups: from a reason to rebalance to the next generation.

A rebalance gathers the members (PreparingRebalance: their joins wait), makes the next generation
when all are there or time is up (CompletingRebalance: their syncs wait), and ends with the
leader's assignment (Stable).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup, ClassicMember, State
from barnabas.coordinator.group.state import INITIAL, JOIN, SESSION, SYNC
from barnabas.protocol.messages.join_group import JoinGroupResponse
from barnabas.protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from barnabas.coordinator.group.outcome import Outcome
    from barnabas.coordinator.group.state import GroupState

log = logging.getLogger(__name__)


def rebalance_or_complete(
    state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int
) -> None:
    """Something changed: start a rebalance, or see whether the one under way is complete."""
    if group.can_rebalance:
        prepare(state, group, out, now_ms)
    else:
        complete_if_all_joined(state, group, out, now_ms)


def prepare(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    """Start gathering members.  Those that wait for an assignment must join again."""
    if group.state is State.COMPLETING:
        fail_syncs(state, group, out, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        for member in group.members.values():
            member.assignment = b""
    group.unsynced.clear()
    state.timers.cancel((SYNC, group.group_id, ""))
    log.info("group %s: rebalance, generation %d ends", group.group_id, group.generation)
    first = group.state is State.EMPTY
    group.transition(State.PREPARING, now_ms)
    if not first:
        _complete_or_wait(state, group, out, now_ms)
        return
    delay_ms = state.config.initial_rebalance_delay_ms
    group.joined_since = False
    group.initial_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
    state.timers.set((INITIAL, group.group_id, ""), now_ms + delay_ms)


def complete_if_all_joined(
    state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int
) -> None:
    """The first rebalance of an empty group is never cut short: more members may be coming."""
    if group.state is not State.PREPARING or group.previous_state is State.EMPTY:
        return
    if group.all_joined:
        complete_join(state, group, out, now_ms)


def _complete_or_wait(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    if group.all_joined:
        complete_join(state, group, out, now_ms)
    else:
        state.timers.set((JOIN, group.group_id, ""), now_ms + group.rebalance_timeout_ms)


def initial_delay_over(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    """Wait another while if someone came, as long as the rebalance timeout allows."""
    if group.joined_since and group.initial_remaining_ms > 0:
        group.joined_since = False
        delay_ms = min(state.config.initial_rebalance_delay_ms, group.initial_remaining_ms)
        group.initial_remaining_ms -= delay_ms
        state.timers.set((INITIAL, group.group_id, ""), now_ms + delay_ms)
    else:
        complete_join(state, group, out, now_ms)


def complete_join(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    """Leave behind who has not joined, and make the next generation of the rest."""
    group_id = group.group_id
    assert group.state is State.PREPARING, f"{group_id}: joins complete in {group.state}"
    state.timers.cancel((JOIN, group_id, ""))
    state.timers.cancel((INITIAL, group_id, ""))
    for member in list(group.members.values()):
        if member.join_ticket is None and member.instance_id is None:
            group.remove(member.member_id)
            state.timers.cancel((SESSION, group_id, member.member_id))
    if group.members and not group.elect_leader():
        # Only static members are left and none has joined: their sessions will end, or they come.
        state.timers.set((JOIN, group_id, ""), now_ms + group.rebalance_timeout_ms)
        return
    group.next_generation(now_ms)
    log.info(
        "group %s: generation %d begins, members: %d",
        group_id,
        group.generation,
        len(group.members),
    )
    if not group.members:
        out.records.append(records.group_metadata(group_id, group.to_value({})))
        return
    for member in group.members.values():
        out.answer(group.take_join(member), join_response(group, member))
        member.is_new = False
        group.unsynced.add(member.member_id)
        state.touch(group_id, member.member_id, member.session_timeout_ms, now_ms)
    state.timers.set((SYNC, group_id, ""), now_ms + group.rebalance_timeout_ms)


def join_response(
    group: ClassicGroup, member: ClassicMember, *, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The generation as `member` gets to see it: the leader sees everyone."""
    is_leader = group.leader == member.member_id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=group.response_members() if is_leader else [],
    )


def fail_syncs(
    state: GroupState, group: ClassicGroup, out: Outcome, code: ErrorCode, now_ms: int
) -> None:
    """Answer all syncs that wait.  Their members' sessions may have ended meanwhile: start anew."""
    for member in group.members.values():
        ticket, member.sync_ticket = member.sync_ticket, None
        if ticket is not None:
            out.answer(ticket, SyncGroupResponse(error_code=int(code)))
            state.touch(group.group_id, member.member_id, member.session_timeout_ms, now_ms)


def fail_joins(group: ClassicGroup, out: Outcome, code: ErrorCode) -> None:
    for member in group.members.values():
        ticket = group.take_join(member)
        out.answer(ticket, failed_join(member.member_id, code))


def failed_join(member_id: str, code: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=int(code), member_id=member_id)


def drop_member(group: ClassicGroup, member: ClassicMember, out: Outcome) -> None:
    """Take a member out.  If a request of it waits, it is told to start anew."""
    out.answer(group.take_join(member), failed_join("", ErrorCode.UNKNOWN_MEMBER_ID))
    ticket, member.sync_ticket = member.sync_ticket, None
    out.answer(ticket, SyncGroupResponse(error_code=int(ErrorCode.UNKNOWN_MEMBER_ID)))
    group.remove(member.member_id)


# Timers


def session_over(
    state: GroupState, group: ClassicGroup, member_id: str, out: Outcome, now_ms: int
) -> None:
    """A member was silent.  One whose request waits with us has an excuse, unless it is new."""
    if member_id in group.pending:
        group.remove(member_id)
        complete_if_all_joined(state, group, out, now_ms)
        return
    member = group.members.get(member_id)
    if member is None:
        return
    waits = member.join_ticket is not None or member.sync_ticket is not None
    if waits and not member.is_new:
        return
    log.info(
        "group %s: member %s removed: silent for %d ms",
        group.group_id,
        member_id,
        member.session_timeout_ms,
    )
    drop_member(group, member, out)
    rebalance_after_loss(state, group, out, now_ms)


def rebalance_after_loss(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    """A member has gone."""
    if group.state in {State.STABLE, State.COMPLETING}:
        prepare(state, group, out, now_ms)
    else:
        complete_if_all_joined(state, group, out, now_ms)


def join_over(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    if group.state is State.PREPARING:
        complete_join(state, group, out, now_ms)


def sync_over(state: GroupState, group: ClassicGroup, out: Outcome, now_ms: int) -> None:
    """Leave behind who has joined this generation but not asked for its assignment."""
    if group.state not in {State.COMPLETING, State.STABLE} or not group.unsynced:
        return
    for member_id in sorted(group.unsynced):
        member = group.members[member_id]
        drop_member(group, member, out)
        state.timers.cancel((SESSION, group.group_id, member_id))
    prepare(state, group, out, now_ms)


def start_sessions(state: GroupState, group: ClassicGroup, now_ms: int) -> None:
    """The group was just loaded, or made from a consumer group."""
    for member in group.members.values():
        state.touch(group.group_id, member.member_id, member.session_timeout_ms, now_ms)

"""SyncGroup, Heartbeat and LeaveGroup to a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
    IllegalGeneration,
    InconsistentGroupProtocol,
    UnknownMemberId,
)
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup, ClassicMember, State
from barnabas.coordinator.group.classic.rebalance import drop_member, rebalance_after_loss
from barnabas.coordinator.group.outcome import Outcome
from barnabas.coordinator.group.state import SESSION, SYNC
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.runtime_types import Ticket

ALIVE = HeartbeatResponse()
"""The answer to nearly every heartbeat.  Shared: nobody may change it."""
REBALANCING = HeartbeatResponse(error_code=int(ErrorCode.REBALANCE_IN_PROGRESS))
_ALIVE = Decision(reply=ALIVE)
_REBALANCING = Decision(reply=REBALANCING)


# SyncGroup


def sync(
    state: GroupState, group: ClassicGroup, request: SyncGroupRequest, ticket: Ticket, now_ms: int
) -> Decision:
    member = _validate_sync(group, request)
    match group.state:
        case State.COMPLETING:
            return _sync_completing(state, group, member, request, ticket=ticket, now_ms=now_ms)
        case State.STABLE:
            _synced(state, group, member)
            return Decision(reply=_sync_response(group, member))
        case _:
            code = int(ErrorCode.REBALANCE_IN_PROGRESS)
            return Decision(reply=SyncGroupResponse(error_code=code))


def _validate_sync(group: ClassicGroup, request: SyncGroupRequest) -> ClassicMember:
    if group.is_empty:
        raise UnknownMemberId
    member = group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        raise InconsistentGroupProtocol
    if request.protocol_name is not None and request.protocol_name != group.protocol:
        raise InconsistentGroupProtocol
    return member


def _sync_completing(
    state: GroupState,
    group: ClassicGroup,
    member: ClassicMember,
    request: SyncGroupRequest,
    *,
    ticket: Ticket,
    now_ms: int,
) -> Decision:
    """Followers wait for the leader; its assignment makes the group stable once it is written."""
    out = Outcome()
    earlier, member.sync_ticket = member.sync_ticket, ticket
    if earlier is not None:
        out.answer(earlier, SyncGroupResponse(error_code=int(ErrorCode.REBALANCE_IN_PROGRESS)))
    _synced(state, group, member)
    if group.leader != member.member_id:
        return out.decision()
    assignments = {item.member_id: bytes(item.assignment) for item in request.assignments}
    for each in group.members.values():
        each.assignment = assignments.get(each.member_id, b"")
    group.transition(State.STABLE, now_ms)
    for each in group.members.values():
        waiting, each.sync_ticket = each.sync_ticket, None
        if waiting is not None:
            out.answer(waiting, _sync_response(group, each))
            state.touch(group.group_id, each.member_id, each.session_timeout_ms, now_ms)
    out.records.append(records.group_metadata(group.group_id, group.to_value(assignments)))
    return out.decision()


def _synced(state: GroupState, group: ClassicGroup, member: ClassicMember) -> None:
    group.unsynced.discard(member.member_id)
    if not group.unsynced:
        state.timers.cancel((SYNC, group.group_id, ""))


def _sync_response(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        assignment=member.assignment,
    )


# Heartbeat


def heartbeat(
    state: GroupState,
    group: ClassicGroup,
    request: HeartbeatRequest,
    *,
    generation: int,
    now_ms: int,
) -> Decision:
    """`request` says whose it is; of an earlier one that is like it, the generation is another."""
    member = group.validate_member(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise IllegalGeneration
    state.touch(group.group_id, member.member_id, member.session_timeout_ms, now_ms)
    return _REBALANCING if group.state is State.PREPARING else _ALIVE


# LeaveGroup


def leave(
    state: GroupState, group: ClassicGroup, request: LeaveGroupRequest, now_ms: int
) -> Decision:
    out = Outcome()
    responses = []
    left = False
    for identity in request.members:
        code = ErrorCode.NONE
        try:
            _leave_one(state, group, identity, out)
            left = True
        except ApiError as error:
            code = error.code
        responses.append(
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=int(code),
            )
        )
    if left:
        rebalance_after_loss(state, group, out, now_ms)
    return out.decision(LeaveGroupResponse(members=responses))


def _leave_one(
    state: GroupState, group: ClassicGroup, identity: MemberIdentity, out: Outcome
) -> None:
    """An administrator names a static member by its instance id alone."""
    member_id = identity.member_id
    if not member_id:
        member_id = group.static.get(identity.group_instance_id or "", "")
        if not member_id:
            raise UnknownMemberId
    elif member_id in group.pending:
        group.remove(member_id)
        state.timers.cancel((SESSION, group.group_id, member_id))
        return
    member = group.validate_member(member_id, identity.group_instance_id)
    drop_member(group, member, out)
    state.timers.cancel((SESSION, group.group_id, member_id))

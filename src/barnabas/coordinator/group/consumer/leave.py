"""Members that leave a consumer group, or are fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.base.errors import FencedInstanceId, GroupIdNotFound, UnknownMemberId
from barnabas.coordinator.group import records
from barnabas.coordinator.group.consumer.convert import can_downgrade, to_classic
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import LEFT_FOR_NOW, Member, MemberState
from barnabas.coordinator.group.consumer.subscriptions import drop_unused_regex, update_epoch
from barnabas.coordinator.group.outcome import Outcome
from barnabas.coordinator.group.records import NO_PARTITIONS
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.coordinator.group.state import GroupState


def leave(state: GroupState, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> Decision:
    """A member says goodbye: for good, or for as long as its session lasts."""
    group = state.consumer(request.group_id)
    if group is None:
        raise GroupIdNotFound(f"Consumer group {request.group_id} not found.")
    response = ConsumerGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )
    if request.instance_id is None:
        return fence(state, group, [group.member(request.member_id)], response, now_ms)
    member = group.static_member(request.instance_id)
    if member is None:
        raise UnknownMemberId(f"Instance id {request.instance_id} is unknown.")
    if member.member_id != request.member_id:
        raise FencedInstanceId(
            f"Static member {request.member_id} with instance id {request.instance_id} was "
            f"fenced by member {member.member_id}."
        )
    if request.member_epoch != LEFT_FOR_NOW:
        return fence(state, group, [member], response, now_ms)
    away = member._replace(epoch=LEFT_FOR_NOW, revoking=NO_PARTITIONS)
    record = records.consumer_current(group.group_id, member.member_id, away.to_current())
    return Decision(records=(record,), reply=response)


def fence(
    state: GroupState,
    group: ConsumerGroup,
    members: Sequence[Member],
    reply: Any,
    now_ms: int,
) -> Decision:
    """Take members out.  If only classic members are left, the group becomes a classic one."""
    if not members:
        return Decision(reply=reply)
    gone = {member.member_id for member in members}
    for member_id in gone:
        state.cancel_member(group.group_id, member_id)
    if can_downgrade(state.config, group, gone):
        out = Outcome()
        to_classic(state, group, out, leaving=gone, rebalance=True, now_ms=now_ms)
        return out.decision(reply)
    draft = Draft(group)
    for member in members:
        draft.remove_member(member.member_id)
    for regex in sorted({member.regex for member in members if member.regex}):
        drop_unused_regex(draft, regex)
    update_epoch(draft, state.topics, bump=True)
    return Decision(records=tuple(draft.records), reply=reply)


def session_over(
    state: GroupState, group: ConsumerGroup, member_id: str, now_ms: int
) -> Decision | None:
    """A member was silent, or did not join or sync in time."""
    member = group.members.get(member_id)
    return None if member is None else fence(state, group, [member], None, now_ms)


def revocation_over(
    state: GroupState, group: ConsumerGroup, member_id: str, now_ms: int
) -> Decision | None:
    """A member did not give up its partitions within its rebalance timeout."""
    member = group.members.get(member_id)
    if member is None or member.state is not MemberState.UNREVOKED:
        return None
    return fence(state, group, [member], None, now_ms)

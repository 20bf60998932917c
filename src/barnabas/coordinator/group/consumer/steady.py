"""Heartbeats without news, as most are.

Of a member that has what it should have, one is a few look-ups; if it has not, its next step is
decided on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.coordinator.group.consumer.answers import answer_to, assignment_of, heard, unchanged
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.moving import move_on
from barnabas.coordinator.group.consumer.progress import step
from barnabas.coordinator.group.consumer.subscriptions import regexes_are_due
from barnabas.coordinator.runtime_codec import RECORD_OVERHEAD
from barnabas.coordinator.runtime_types import Decision

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.group import ConsumerGroup
    from barnabas.coordinator.group.consumer.member import Member
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.runtime_codec import BatchBuilder
    from barnabas.protocol.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )


def without_news(state: GroupState, call: Call, now_ms: int) -> Decision | None:
    """Decide on a heartbeat that says nothing new, and so nothing invalid.  None: it has news."""
    found = _member_without_news(state, call, now_ms)
    return None if found is None else _go_on(state, *found, now_ms)


def join(
    state: GroupState, call: Call, batch: BatchBuilder, room_bytes: int, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """The same where a member is where it should be, or needs but move on: see `Joining`."""
    found = _member_without_news(state, call, now_ms)
    if found is None:
        return None
    group, member = found
    epoch = member.epoch
    if not member.is_reconciled(group.target_epoch):
        moved = move_on(group, member)
        if moved is None:
            return None
        after, moving = moved
        rest = moving.rest(after)
        if len(rest) + RECORD_OVERHEAD > room_bytes:
            return None
        batch.add_rest(rest, now_ms)
        group.put(after)
        epoch = after.epoch
    interval_ms = heard(state, group.group_id, member, now_ms)
    return unchanged(member.member_id, epoch, interval_ms)


def _member_without_news(
    state: GroupState, call: Call, now_ms: int
) -> tuple[ConsumerGroup, Member] | None:
    """Whose heartbeat it is, if neither the member nor its group has anything new to say."""
    request: ConsumerGroupHeartbeatRequest = call.request
    group = state.consumer(request.group_id)
    if group is None or request.member_epoch <= 0:
        return None
    member = group.members.get(request.member_id)
    if member is None or not _has_no_news(state, group, member, call, now_ms):
        return None
    return group, member


def _has_no_news(
    state: GroupState, group: ConsumerGroup, member: Member, call: Call, now_ms: int
) -> bool:
    """The member says nothing new, and there is nothing to do for the group as a whole."""
    request: ConsumerGroupHeartbeatRequest = call.request
    return (
        request.member_epoch == member.epoch
        and group.epoch == group.target_epoch
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.topic_partitions is None
        and request.server_assignor is None
        and request.rack_id is None
        and request.rebalance_timeout_ms == -1
        and request.instance_id == member.instance_id
        and call.client_id == member.client_id
        and call.client_host == member.client_host
        and member.classic is None
        and not group.needs_refresh(now_ms)
        and not (member.regex and regexes_are_due(state, group, now_ms))
    )


def _go_on(state: GroupState, group: ConsumerGroup, member: Member, now_ms: int) -> Decision:
    """Move a member without news towards its target, if it is not there yet."""
    group_id = group.group_id
    if member.is_reconciled(group.target_epoch):
        interval_ms = heard(state, group_id, member, now_ms)
        return Decision((), unchanged(member.member_id, member.epoch, interval_ms))
    if (moved := move_on(group, member)) is not None:
        after, moving = moved
        interval_ms = heard(state, group_id, member, now_ms)
        reply = unchanged(member.member_id, after.epoch, interval_ms)
        return Decision((moving.of(after),), reply)
    draft = Draft(group)
    after = step(state, draft, member.member_id, owned=None, changed=False, now_ms=now_ms)
    response = answer_to(state, group_id, after, now_ms)
    if after.assigned != member.assigned:
        response.assignment = assignment_of(after.assigned)
    return Decision(records=tuple(draft.records), reply=response)

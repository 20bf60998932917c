"""Heartbeats without news, as most are.

Of a member that has what it should have, one is a few look-ups; if it has not, its next step is
decided on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.coordinator.group.consumer.answers import (
    Unchanged,
    answer_to,
    assignment_of,
    heard,
)
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.moving import move_on
from barnabas.coordinator.group.consumer.progress import step
from barnabas.coordinator.group.consumer.subscriptions import regexes_are_due
from barnabas.coordinator.runtime_codec import RECORD_OVERHEAD
from barnabas.coordinator.runtime_types import Decision

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.member import Member
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.runtime_codec import BatchBuilder
    from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends heartbeats that say nothing but who it is and what epoch it is at."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str


def sender(call: Call) -> Sender | None:
    """Who sent it; None: it says more."""
    request: ConsumerGroupHeartbeatRequest = call.request
    if (
        request.subscribed_topic_names is not None
        or request.subscribed_topic_regex is not None
        or request.topic_partitions is not None
        or request.server_assignor is not None
        or request.rack_id is not None
        or request.rebalance_timeout_ms != -1
    ):
        return None
    return Sender(
        request.group_id,
        request.member_id,
        request.instance_id,
        call.client_id,
        call.client_host,
    )


def without_news(state: GroupState, call: Call, now_ms: int) -> Decision | None:
    """Decide on a heartbeat that says nothing new, and so nothing invalid.  None: it has news."""
    who = sender(call)
    decision = None if who is None else again(state, who, call.request.member_epoch, now_ms)
    if decision is not None and isinstance(decision.reply, Unchanged):
        return decision._replace(reply=decision.reply.message(call.request.member_id))
    return decision


def again(state: GroupState, who: Sender, epoch: int, now_ms: int) -> Decision | None:
    """The same for a caller that can write `Unchanged`, as the reply then mostly is."""
    found = _member_without_news(state, who, epoch, now_ms)
    if found is None:
        return None
    group, member = found
    if member.is_reconciled(group.target_epoch):
        return Decision((), Unchanged(epoch, heard(state, group.group_id, member, now_ms)))
    if (moved := move_on(group, member)) is not None:
        after, moving = moved
        interval_ms = heard(state, group.group_id, member, now_ms)
        return Decision((moving.of(after),), Unchanged(after.epoch, interval_ms))
    return _go_on(state, group, member, now_ms)


def join(
    state: GroupState,
    who: Sender,
    epoch: int,
    batch: BatchBuilder,
    *,
    room_bytes: int,
    now_ms: int,
) -> Unchanged | None:
    """The same where a member is where it should be, or needs but move on: see `Joining`."""
    found = _member_without_news(state, who, epoch, now_ms)
    if found is None:
        return None
    group, member = found
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
    return Unchanged(epoch, heard(state, who.group_id, member, now_ms))


def _member_without_news(
    state: GroupState, who: Sender, epoch: int, now_ms: int
) -> tuple[ConsumerGroup, Member] | None:
    """Whose heartbeat it is, if neither the member nor its group has anything new to say."""
    group = state.groups.get(who.group_id)
    if not isinstance(group, ConsumerGroup) or epoch <= 0:
        return None
    member = group.members.get(who.member_id)
    if (
        member is None
        or member.epoch != epoch
        or group.epoch != group.target_epoch
        or member.instance_id != who.instance_id
        or member.client_id != who.client_id
        or member.client_host != who.client_host
        or member.classic is not None
        or group.needs_refresh(now_ms)
        or (member.regex and regexes_are_due(state, group, now_ms))
    ):
        return None
    return group, member


def _go_on(state: GroupState, group: ConsumerGroup, member: Member, now_ms: int) -> Decision:
    """Move a member without news towards its target."""
    draft = Draft(group)
    after = step(state, draft, member.member_id, owned=None, changed=False, now_ms=now_ms)
    response = answer_to(state, group.group_id, after, now_ms)
    if after.assigned != member.assigned:
        response.assignment = assignment_of(after.assigned)
    return Decision(records=tuple(draft.records), reply=response)

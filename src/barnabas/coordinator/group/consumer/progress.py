"""What follows from a member's news: subscriptions, a new epoch, a new target, the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.coordinator.group.consumer.member import Member, MemberState
from barnabas.coordinator.group.consumer.reconcile import Situation, reconcile
from barnabas.coordinator.group.consumer.subscriptions import (
    drop_unused_regex,
    refreshed,
    regexes_are_due,
    resolve_regexes,
    update_epoch,
)
from barnabas.coordinator.group.consumer.target import assign_when_due, subscribed_ids
from barnabas.coordinator.group.state import REVOKE

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.draft import Draft
    from barnabas.coordinator.group.consumer.group import ConsumerGroup
    from barnabas.coordinator.group.records import Partitions
    from barnabas.coordinator.group.state import GroupState


def settle(
    state: GroupState,
    draft: Draft,
    live: ConsumerGroup | None,
    *,
    before: Member,
    told: Member,
    owned: Partitions | None,
    now_ms: int,
    bump: bool = False,
) -> Member:
    """Take in what a member tells of itself, and move it one step towards its target.

    `live` is the group itself, for its soft state; None if it is only being made.  `bump` starts a
    new epoch in any case.
    """
    changed = take_in(state, draft, live, before=before, told=told, now_ms=now_ms, bump=bump)
    assign_when_due(state, draft, live, now_ms)
    return step(state, draft, told.member_id, owned=owned, changed=changed, now_ms=now_ms)


def take_in(
    state: GroupState,
    draft: Draft,
    live: ConsumerGroup | None,
    *,
    before: Member,
    told: Member,
    now_ms: int,
    bump: bool = False,
) -> bool:
    """Note the member and start a new epoch if need be.  True: its subscription changed."""
    known = draft.group.members.get(told.member_id)
    if told is not known and told != known:
        draft.put_member(told)
    changed = told.names != before.names
    bump = bump or draft.group.epoch == 0 or changed
    if told.regex != before.regex:
        changed = True
        if before.regex:
            drop_unused_regex(draft, before.regex)
        # A pattern that is not resolved yet brings its topics, and with them the epoch, below.
        bump = bump or not told.regex or told.regex in draft.group.regexes
    if regexes_are_due(state, draft.group, now_ms):
        new = told.regex if told.regex != before.regex else ""
        bump = resolve_regexes(state, draft, now_ms, new=new) or bump
        if live is not None:
            live.resolved_at_ms, live.resolved_version = now_ms, state.topics.version
    if bump or draft.group.needs_refresh(now_ms):
        update_epoch(draft, state.topics, bump=bump)
        if live is not None:
            refreshed(live, now_ms)
    return changed


def step(
    state: GroupState,
    draft: Draft,
    member_id: str,
    *,
    owned: Partitions | None,
    changed: bool,
    now_ms: int,
) -> Member:
    """Move the member towards the target; it has so long to give up what it must."""
    group = draft.group
    member = group.members[member_id]
    if not changed and member.is_reconciled(group.target_epoch):
        return member
    situation = Situation(
        target_epoch=group.target_epoch,
        target=group.target_of(member_id),
        subscribed=subscribed_ids(group, member),
        owned=owned,
        owners=group.owners,
        subscription_changed=changed,
    )
    after = reconcile(member, situation)
    if after == member:
        return member
    draft.put_current(after)
    key = (REVOKE, group.group_id, member_id)
    if after.state is MemberState.UNREVOKED and not after.uses_classic:
        state.timers.set(key, now_ms + after.rebalance_timeout_ms)
    else:
        state.timers.cancel(key)
    return after

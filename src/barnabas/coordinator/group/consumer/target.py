"""The assignment that a consumer group moves towards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.coordinator.group import records
from barnabas.coordinator.group.assignors import ASSIGNORS
from barnabas.coordinator.group.assignors.model import MemberSpec, Spec
from barnabas.coordinator.group.records import NO_PARTITIONS
from barnabas.coordinator.group.state import ASSIGN

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.draft import Draft
    from barnabas.coordinator.group.consumer.group import ConsumerGroup
    from barnabas.coordinator.group.consumer.member import Member
    from barnabas.coordinator.group.state import GroupState


def subscribed_ids(group: ConsumerGroup, member: Member) -> frozenset[bytes]:
    """Ids of the topics that the member reads, as the group knows them."""
    return frozenset(
        group.topics[name].id for name in group.topics_of(member) if name in group.topics
    )


def assign(state: GroupState, draft: Draft) -> None:
    """Make the target of the group's epoch.  Only what changes is written."""
    group = draft.group
    ids: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    for member in group.members.values():  # most read the same: look each combination up once
        if (member.names, member.regex) not in ids:
            ids[member.names, member.regex] = subscribed_ids(group, member)
    default = state.config.consumer_assignors[0]
    assignor = ASSIGNORS.get(group.assignor(default)) or ASSIGNORS[default]
    spec = Spec(
        members=tuple(
            MemberSpec(
                member_id=member.member_id,
                order=member.instance_id or member.member_id,
                topics=ids[member.names, member.regex],
                target=group.target_of(member.member_id),
            )
            for member in group.members.values()
        ),
        partitions={info.id: info.partitions for info in group.topics.values()},
    )
    assignment = assignor(spec)
    for member_id in sorted(group.members):
        target = assignment.get(member_id, NO_PARTITIONS)
        before = group.target_of(member_id)
        if target is not before and target != before:
            draft.write(records.consumer_target(group.group_id, member_id, target))
    draft.write(records.consumer_target_epoch(group.group_id, group.epoch))


def assign_when_due(
    state: GroupState, draft: Draft, live: ConsumerGroup | None, now_ms: int
) -> None:
    """Make the target if the group's epoch asks for it, but not too often.

    `live` is the group itself, if it exists already: when it was last assigned is its soft state.
    """
    group = draft.group
    if group.epoch <= group.target_epoch:
        return
    interval_ms = state.settings_of(group.group_id).assignment_interval_ms
    last_ms = None if live is None else live.assigned_at_ms
    if last_ms is not None and now_ms < last_ms + interval_ms:
        state.timers.set((ASSIGN, group.group_id, ""), last_ms + interval_ms)
        return
    assign(state, draft)
    if live is not None:
        live.assigned_at_ms = now_ms

"""The assignment that a consumer group moves towards."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from barnabas.coordinator.group import records
from barnabas.coordinator.group.assignors import ASSIGNORS
from barnabas.coordinator.group.assignors.model import MemberSpec, Spec
from barnabas.coordinator.group.records import NO_PARTITIONS
from barnabas.coordinator.group.state import ASSIGN

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    default = state.config.consumer_assignors[0]
    assignor = ASSIGNORS.get(group.assignor(default)) or ASSIGNORS[default]
    spec = Spec(
        members=tuple(_members(group)),
        partitions={info.id: info.partitions for info in group.topics.values()},
    )
    assignment = assignor(spec)
    changed = [
        (member.member_id, target)
        for member in spec.members
        if (target := assignment.get(member.member_id, NO_PARTITIONS)) is not member.target
        and target != member.target
    ]
    for member_id, target in sorted(changed, key=itemgetter(0)):
        draft.write(records.consumer_target(group.group_id, member_id, target))
    draft.write(records.consumer_target_epoch(group.group_id, group.epoch))


def _members(group: ConsumerGroup) -> Iterator[MemberSpec]:
    ids: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    for member_id, member in group.members.items():
        chosen = member.names, member.regex
        topics = ids.get(chosen)
        if topics is None:  # most read the same: each combination is looked up once
            topics = ids[chosen] = subscribed_ids(group, member)
        target = group.target.get(member_id, NO_PARTITIONS)
        yield MemberSpec(member_id, member.instance_id or member_id, topics, target)


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

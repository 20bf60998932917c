"""Offsets that nobody has used for a long time, and groups that have nothing left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup, State
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision

if TYPE_CHECKING:
    from barnabas.coordinator.group.offset_store import Committed
    from barnabas.coordinator.group.state import Group, GroupState


def expire(state: GroupState, now_ms: int) -> Iterator[Decision]:
    """One decision for each group that loses something."""
    for group_id in list({**dict.fromkeys(state.offsets.groups()), **state.groups}):
        written = _expired(state, group_id, now_ms)
        kept = len(state.offsets.of_group(group_id)) - len(written)
        group = state.groups.get(group_id)
        if not kept and not state.offsets.pending_keys(group_id) and group is not None:
            written += _forget(state, group)
        if written:
            yield Decision(records=tuple(written), atomic=False)


def _expired(state: GroupState, group_id: str, now_ms: int) -> list[CoordinatorRecord]:
    group = state.groups.get(group_id)
    if isinstance(group, ClassicGroup) and not _may_expire(group):
        return []
    pending = state.offsets.pending_keys(group_id)
    retention_ms = state.config.offsets_retention_ms
    written = []
    for (topic, index), offset in state.offsets.of_group(group_id).items():
        if (topic, index) in pending or (group is not None and group.is_subscribed(topic)):
            continue
        if offset.expire_timestamp >= 0:
            over = now_ms >= offset.expire_timestamp
        else:
            over = now_ms - _unused_since(group, offset) >= retention_ms
        if over:
            written.append(records.offset_commit(group_id, topic, index, None))
    return written


def _may_expire(group: ClassicGroup) -> bool:
    """While a group has members, only offsets of topics that it is known not to read may go."""
    if group.is_empty or group.protocol_type is None:
        return True
    return group.is_consumer and group.state is State.STABLE and group.subscribed is not None


def _unused_since(group: Group | None, offset: Committed) -> int:
    """Offsets of a group that had members count from when the last of them left."""
    if isinstance(group, ClassicGroup) and group.is_empty and group.state_timestamp is not None:
        return max(group.state_timestamp, offset.commit_timestamp)
    return offset.commit_timestamp


def _forget(state: GroupState, group: Group) -> list[CoordinatorRecord]:
    """The records that end a group without members or offsets.  One without any is dropped."""
    if not group.is_empty:
        return []
    if isinstance(group, ConsumerGroup):
        return group.tombstones()
    if group.pending:
        return []
    if group.stored is not None:
        return [records.group_metadata(group.group_id, None)]
    del state.groups[group.group_id]
    return []

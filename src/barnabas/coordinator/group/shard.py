"""One partition of `__consumer_offsets` as a machine: events in, decisions out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from barnabas.coordinator.group import expiry, requests
from barnabas.coordinator.group.classic import rebalance
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.consumer import leave
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import MemberState
from barnabas.coordinator.group.consumer.target import assign
from barnabas.coordinator.group.outcome import Outcome
from barnabas.coordinator.group.state import (
    CONVERTED,
    EXPIRE,
    REBALANCE,
    REVOKE,
    UNTOLD,
    GroupState,
)
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision, Producer
from barnabas.protocol.messages import group_records as gr

if TYPE_CHECKING:
    from barnabas.protocol.message import Message


class GroupShard:
    """The groups of one partition.  See `Shard` for the contract."""

    def __init__(self, state: GroupState) -> None:
        self.state = state
        self.decide = partial(requests.decide, state)
        self.next_deadline = state.timers.next
        self._live = False
        """Loaded: groups have soft state that replay must leave alone."""

    # Replay

    def replay(self, record: CoordinatorRecord, *, producer: Producer | None) -> None:
        key, value = record.key, record.value
        match key:
            case gr.OffsetCommitKey():
                assert value is None or isinstance(value, gr.OffsetCommitValue)
                if producer is None:
                    self.state.offsets.replay(key, value)
                else:
                    self.state.offsets.replay_pending(producer.producer_id, key, value)
            case gr.GroupMetadataKey():
                assert value is None or isinstance(value, gr.GroupMetadataValue)
                self._replay_classic(key.group, value)
            case _:
                self._replay_consumer(_group_id(key), record)

    def _replay_classic(self, group_id: str, value: gr.GroupMetadataValue | None) -> None:
        groups = self.state.groups
        group = groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                del groups[group_id]
        elif self._live and isinstance(group, ClassicGroup):
            group.stored = value
        else:
            groups[group_id] = ClassicGroup.from_value(group_id, value)

    def _replay_consumer(self, group_id: str, record: CoordinatorRecord) -> None:
        groups = self.state.groups
        group = groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            if record.value is None:
                return
            group = groups[group_id] = ConsumerGroup(group_id)
        if not group.replay(record):
            del groups[group_id]

    def replay_end_txn(self, producer: Producer, *, committed: bool) -> None:
        self.state.offsets.replay_end(producer.producer_id, committed=committed)

    def dump(self) -> dict[str, object]:
        """Everything durable, in a form that can be compared."""
        groups: dict[str, object] = {}
        for group_id, group in self.state.groups.items():
            if isinstance(group, ConsumerGroup):
                groups[group_id] = group.dump()
            elif group.stored is not None:
                groups[group_id] = group.stored
        return {"groups": groups, **self.state.offsets.dump()}

    # Time

    def loaded(self, now_ms: int) -> None:
        """Every member gets a whole session to be heard of."""
        self._live = True
        state = self.state
        for group_id, group in state.groups.items():
            if isinstance(group, ClassicGroup):
                too_big = len(group.members) > state.config.max_size
                state.timers.set((CONVERTED, group_id, REBALANCE if too_big else ""), now_ms)
                continue
            session_ms = state.settings_of(group_id).session_timeout_ms
            for member in group.members.values():
                timeout_ms = member.classic.session_timeout_ms if member.classic else session_ms
                state.touch(group_id, member.member_id, timeout_ms, now_ms)
                if member.state is MemberState.UNREVOKED and not member.uses_classic:
                    state.timers.set(
                        (REVOKE, group_id, member.member_id),
                        now_ms + member.rebalance_timeout_ms,
                    )
        state.timers.set((EXPIRE, "", ""), now_ms + state.config.offsets_retention_check_ms)

    def tick(self, now_ms: int) -> Iterator[Decision]:
        while (key := self.state.timers.pop(now_ms)) is not None:
            kind, group_id, member_id = key
            if kind == EXPIRE:
                again_ms = now_ms + self.state.config.offsets_retention_check_ms
                self.state.timers.set(key, again_ms)
                yield from expiry.expire(self.state, now_ms)
                continue
            group = self.state.groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                decision = self._consumer_due(kind, group, member_id, now_ms)
            elif group is not None:
                decision = self._classic_due(kind, group, member_id, now_ms)
            else:
                decision = None
            if decision is not None and (decision.records or decision.answers):
                yield decision

    def _classic_due(self, kind: str, group: ClassicGroup, member_id: str, now_ms: int) -> Decision:
        state, out = self.state, Outcome()
        match kind:
            case "session":
                rebalance.session_over(state, group, member_id, out, now_ms)
            case "initial":
                rebalance.initial_delay_over(state, group, out, now_ms)
            case "join":
                rebalance.join_over(state, group, out, now_ms)
            case "sync":
                rebalance.sync_over(state, group, out, now_ms)
            case "converted":
                rebalance.start_sessions(state, group, now_ms)
                if member_id == UNTOLD:
                    group.generation -= 1
                if member_id and group.can_rebalance:
                    rebalance.prepare(state, group, out, now_ms)
        return out.decision()

    def _consumer_due(
        self, kind: str, group: ConsumerGroup, member_id: str, now_ms: int
    ) -> Decision | None:
        match kind:
            case "session" | "member-join" | "member-sync":
                return leave.session_over(self.state, group, member_id, now_ms)
            case "revoke":
                return leave.revocation_over(self.state, group, member_id, now_ms)
            case "assign":
                return self._assign_due(group, now_ms)
            case _:
                return None

    def _assign_due(self, group: ConsumerGroup, now_ms: int) -> Decision | None:
        if group.epoch <= group.target_epoch or not group.members:
            return None
        draft = Draft(group)
        assign(self.state, draft)
        group.assigned_at_ms = now_ms
        return Decision(records=tuple(draft.records))


_CONSUMER_KEYS = (
    gr.ConsumerGroupCurrentMemberAssignmentKey,
    gr.ConsumerGroupTargetAssignmentMemberKey,
    gr.ConsumerGroupMemberMetadataKey,
    gr.ConsumerGroupMetadataKey,
    gr.ConsumerGroupTargetAssignmentMetadataKey,
    gr.ConsumerGroupPartitionMetadataKey,
    gr.ConsumerGroupRegularExpressionKey,
)
"""Those that there are most of come first."""


def _group_id(key: Message) -> str:
    assert isinstance(key, _CONSUMER_KEYS)
    return key.group_id

"""Which machine decides on which request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.base.errors import UnknownMemberId
from barnabas.coordinator.group import describe, offsets
from barnabas.coordinator.group.beat_again import BeatAgain, classic_again
from barnabas.coordinator.group.classic import join as classic_join
from barnabas.coordinator.group.classic import members as classic
from barnabas.coordinator.group.commit_again import CommitAgain, commit_again
from barnabas.coordinator.group.consumer import classic_members as mixed
from barnabas.coordinator.group.consumer import heartbeat as beat
from barnabas.coordinator.group.consumer import steady
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.leave import leave
from barnabas.coordinator.group.events import Call, FetchOffsets, TopicsChanged
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages import group_records as gr
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from barnabas.coordinator.group.state import Group, GroupState
    from barnabas.coordinator.runtime_types import Ticket
    from barnabas.protocol.message import Message


def decide(state: GroupState, event: Any, ticket: Ticket, now_ms: int) -> Decision:
    """Decide on an event of `events.py`."""
    if isinstance(event, Call):
        return _DECIDERS[type(event.request)](state, event, ticket, now_ms)
    match event:
        case CommitAgain():
            return commit_again(state, event, now_ms)
        case BeatAgain():
            return _beat_again(state, event, ticket, now_ms)
        case FetchOffsets():
            return Decision(reply=offsets.fetch(state, event))
        case TopicsChanged():
            return _topics_changed(state, event)
        case _:
            raise AssertionError(f"no decision for {type(event).__name__}")


def _beat_again(state: GroupState, event: BeatAgain, ticket: Ticket, now_ms: int) -> Decision:
    beats = event.beats
    decision = None
    if beats.is_classic:
        decision = classic_again(state, beats, event.epoch, now_ms)
    elif beats.who is not None:
        decision = steady.again(state, beats.who, event.epoch, now_ms)
    return decide(state, event.call, ticket, now_ms) if decision is None else decision


def _existing(state: GroupState, group_id: str) -> Group:
    group = state.groups.get(group_id)
    if group is None:
        raise UnknownMemberId
    return group


# The classic protocol


def _join(state: GroupState, call: Call, ticket: Ticket, now_ms: int) -> Decision:
    group = state.groups.get(call.request.group_id)
    if not isinstance(group, ConsumerGroup):
        return classic_join.join(state, call, ticket, now_ms)
    if group.members:
        return mixed.join(state, group, call, now_ms)
    # A consumer group without members becomes what the first that joins wants it to be.
    del state.groups[group.group_id]
    decision = classic_join.join(state, call, ticket, now_ms)
    if group.group_id not in state.groups:
        state.groups[group.group_id] = group
        return decision  # refused: the group stays what it was
    return decision._replace(records=(*group.tombstones(), *decision.records))


def _sync(state: GroupState, call: Call, ticket: Ticket, now_ms: int) -> Decision:
    group = _existing(state, call.request.group_id)
    if isinstance(group, ConsumerGroup):
        return mixed.sync(state, group, call.request, now_ms)
    return classic.sync(state, group, call.request, ticket, now_ms)


def _heartbeat(state: GroupState, call: Call, _: Ticket, now_ms: int) -> Decision:
    group = _existing(state, call.request.group_id)
    if isinstance(group, ConsumerGroup):
        return mixed.heartbeat(state, group, call.request, now_ms)
    request: HeartbeatRequest = call.request
    return classic.heartbeat(state, group, request, generation=request.generation_id, now_ms=now_ms)


def _leave(state: GroupState, call: Call, _: Ticket, now_ms: int) -> Decision:
    group = _existing(state, call.request.group_id)
    if isinstance(group, ConsumerGroup):
        return mixed.leave(state, group, call.request, now_ms)
    return classic.leave(state, group, call.request, now_ms)


# The newer protocol


def _consumer_heartbeat(state: GroupState, call: Call, _: Ticket, now_ms: int) -> Decision:
    decision = steady.without_news(state, call, now_ms)
    if decision is not None:
        return decision
    beat.validate(call.request, call.version, state.config.consumer_assignors)
    if beat.leaves(call.request):
        return leave(state, call.request, now_ms)
    return beat.heartbeat(state, call, now_ms)


# Offsets, and groups as a whole


def _commit(state: GroupState, call: Call, _: Ticket, now_ms: int) -> Decision:
    return offsets.commit(state, call.request, call.version, now_ms)


def _txn_commit(state: GroupState, call: Call, _: Ticket, now_ms: int) -> Decision:
    return offsets.commit_in_transaction(state, call.request, now_ms)


def _delete_offsets(state: GroupState, call: Call, _: Ticket, __: int) -> Decision:
    return offsets.delete(state, call.request)


def _list(state: GroupState, call: Call, _: Ticket, __: int) -> Decision:
    return Decision(reply=describe.list_groups(state, call.request))


def _describe(state: GroupState, call: Call, _: Ticket, __: int) -> Decision:
    return Decision(reply=describe.describe_groups(state, call.request, call.version))


def _describe_consumer(state: GroupState, call: Call, _: Ticket, __: int) -> Decision:
    return Decision(reply=describe.describe_consumer_groups(state, call.request))


def _delete(state: GroupState, call: Call, _: Ticket, __: int) -> Decision:
    return describe.delete_groups(state, call.request)


def _topics_changed(state: GroupState, event: TopicsChanged) -> Decision:
    """Offsets of deleted topics go; groups that read a topic that changed look at it again."""
    touched = event.changed | event.deleted
    for group in state.groups.values():
        if isinstance(group, ConsumerGroup) and group.subscribed_topics() & touched:
            group.refresh_at_ms = 0
    gone = []
    if event.deleted:
        for group_id in list(state.offsets.groups()):
            for record in offsets.tombstones(state, group_id):
                assert isinstance(record.key, gr.OffsetCommitKey)
                if record.key.topic in event.deleted:
                    gone.append(record)
    return Decision(records=tuple(gone), reply=True, atomic=False)


Decider: TypeAlias = "Callable[[GroupState, Call, Ticket, int], Decision]"

_DECIDERS: Mapping[type[Message], Decider] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: _sync,
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave,
    ConsumerGroupHeartbeatRequest: _consumer_heartbeat,
    OffsetCommitRequest: _commit,
    TxnOffsetCommitRequest: _txn_commit,
    OffsetDeleteRequest: _delete_offsets,
    ListGroupsRequest: _list,
    DescribeGroupsRequest: _describe,
    ConsumerGroupDescribeRequest: _describe_consumer,
    DeleteGroupsRequest: _delete,
}

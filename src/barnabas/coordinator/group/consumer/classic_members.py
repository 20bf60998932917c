"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup to a consumer group.

While a group changes its protocol, classic members live in a consumer group: a join is their way
to tell what they have and to take a step, a sync gets them their partitions, and a heartbeat tells
them to join again whenever there is a step to take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
    FencedInstanceId,
    GroupMaxSizeReached,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.coordinator.group.classic.group import protocols_of
from barnabas.coordinator.group.classic.join import KNOWN_ID_SINCE
from barnabas.coordinator.group.classic.members import ALIVE, REBALANCING
from barnabas.coordinator.group.classic.rebalance import failed_join
from barnabas.coordinator.group.consumer.convert import can_downgrade, to_classic
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.heartbeat import replace_static
from barnabas.coordinator.group.consumer.leave import fence
from barnabas.coordinator.group.consumer.member import ClassicInfo, Member, MemberState
from barnabas.coordinator.group.consumer.progress import settle, step, take_in
from barnabas.coordinator.group.embedded import (
    PROTOCOL_TYPE,
    decode_subscription,
    encode_assignment,
    owned_partitions,
    read_version,
)
from barnabas.coordinator.group.outcome import Outcome
from barnabas.coordinator.group.state import MEMBER_JOIN, MEMBER_SYNC
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.state import GroupState
    from barnabas.protocol.messages.consumer_protocol import ConsumerProtocolSubscription


# JoinGroup


def join(state: GroupState, group: ConsumerGroup, call: Call, now_ms: int) -> Decision:
    request: JoinGroupRequest = call.request
    member_id = request.member_id or f"{call.client_id}-{state.new_id()}"
    full = len(group.members) >= state.config.consumer_max_size
    if full and member_id not in group.members:
        raise GroupMaxSizeReached
    _check_protocols(group, request)
    needs_id = not request.member_id and request.group_instance_id is None
    if needs_id and call.version >= KNOWN_ID_SINCE:
        return Decision(reply=failed_join(member_id, ErrorCode.MEMBER_ID_REQUIRED))
    try:
        subscription = decode_subscription(bytes(request.protocols[0].metadata))
    except DecodeError:
        raise InconsistentGroupProtocol("The subscription cannot be read.") from None
    return _Join(state, group, call, member_id, subscription).decide(now_ms)


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """All classic members of the group must have one protocol in common."""
    offered = {protocol.name for protocol in request.protocols}
    if request.protocol_type != PROTOCOL_TYPE or not offered:
        raise InconsistentGroupProtocol
    for member in group.members.values():
        if member.classic is not None:
            offered &= {name for name, _ in member.classic.protocols}
    if not offered:
        raise InconsistentGroupProtocol


class _Join:
    """One JoinGroup on its way through a consumer group."""

    def __init__(
        self,
        state: GroupState,
        group: ConsumerGroup,
        call: Call,
        member_id: str,
        subscription: ConsumerProtocolSubscription,
    ) -> None:
        self.state = state
        self.live = group
        self.call = call
        self.request: JoinGroupRequest = call.request
        self.member_id = member_id
        self.subscription = subscription
        self.owned = owned_partitions(subscription, state.topics)

    def decide(self, now_ms: int) -> Decision:
        draft = Draft(self.live)
        before = self.find_member(draft)
        replaced = self.live.static_member(self.request.group_instance_id)
        out = Outcome()
        if replaced is not None and can_downgrade(
            self.state.config, self.live, {replaced.member_id}, joining=1
        ):
            member = self.downgrade(draft, before, out, now_ms)
        else:
            member = settle(
                self.state,
                draft,
                self.live,
                before=before,
                told=self.told(before),
                owned=self.owned,
                now_ms=now_ms,
            )
            out.records += draft.records
            self.start_timers(now_ms)
        protocol = self.request.protocols[0].name
        return out.decision(
            JoinGroupResponse(
                generation_id=member.epoch,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=protocol,
                member_id=member.member_id,
            )
        )

    def downgrade(self, draft: Draft, before: Member, out: Outcome, now_ms: int) -> Member:
        """The last member of the newer protocol is replaced by this one."""
        take_in(self.state, draft, self.live, before=before, told=self.told(before), now_ms=now_ms)
        member = draft.group.members[self.member_id]
        if draft.group.epoch == self.live.epoch:
            member = step(
                self.state,
                draft,
                self.member_id,
                owned=self.owned,
                changed=False,
                now_ms=now_ms,
            )
        # The target becomes the assignment.  Unless everyone has it already, all must join.
        to_classic(
            self.state,
            draft.group,
            out,
            written=self.live,
            rebalance=draft.group.state != "Stable",
            now_ms=now_ms,
        )
        return member

    def find_member(self, draft: Draft) -> Member:
        group, instance_id = draft.group, self.request.group_instance_id
        if instance_id is None:
            return group.members.get(self.member_id) or Member(member_id=self.member_id)
        existing = group.static_member(instance_id)
        if self.request.member_id:
            if existing is None:
                raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
            if existing.member_id != self.member_id:
                raise FencedInstanceId
            return existing
        if existing is None:
            return Member(member_id=self.member_id)
        return replace_static(draft, existing, self.member_id)

    def told(self, member: Member) -> Member:
        request = self.request
        return member._replace(
            instance_id=request.group_instance_id or member.instance_id,
            rack_id=self.subscription.rack_id or member.rack_id,
            client_id=self.call.client_id,
            client_host=self.call.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            names=tuple(sorted(set(self.subscription.topics))),
            regex="",
            assignor=None,
            classic=ClassicInfo(
                session_timeout_ms=request.session_timeout_ms,
                protocols=protocols_of(request.protocols),
            ),
        )

    def start_timers(self, now_ms: int) -> None:
        """It has joined; now it must stay alive, and fetch its partitions in time."""
        state, group_id = self.state, self.live.group_id
        state.timers.cancel((MEMBER_JOIN, group_id, self.member_id))
        state.touch(group_id, self.member_id, self.request.session_timeout_ms, now_ms)
        state.timers.set(
            (MEMBER_SYNC, group_id, self.member_id), now_ms + self.request.rebalance_timeout_ms
        )


# SyncGroup and Heartbeat


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[Member, ClassicInfo]:
    member = group.validated(member_id, instance_id)
    if member.classic is None:
        raise UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    if member.epoch != generation:
        raise IllegalGeneration
    return member, member.classic


def _await_join(state: GroupState, group: ConsumerGroup, member: Member, now_ms: int) -> None:
    """The member was told to join again; the time it has is not prolonged by telling it twice."""
    key = (MEMBER_JOIN, group.group_id, member.member_id)
    if key not in state.timers:
        state.timers.set(key, now_ms + member.rebalance_timeout_ms)


def sync(
    state: GroupState, group: ConsumerGroup, request: SyncGroupRequest, now_ms: int
) -> Decision:
    member, info = _classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    name, metadata = info.protocols[0]
    if request.protocol_type not in {None, PROTOCOL_TYPE} or request.protocol_name not in {
        None,
        name,
    }:
        raise InconsistentGroupProtocol
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED:
        _await_join(state, group, member, now_ms)
        raise RebalanceInProgress
    state.timers.cancel((MEMBER_SYNC, group.group_id, member.member_id))
    state.touch(group.group_id, member.member_id, info.session_timeout_ms, now_ms)
    return Decision(
        reply=SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(member.assigned, state.topics, read_version(metadata)),
        )
    )


def heartbeat(
    state: GroupState, group: ConsumerGroup, request: HeartbeatRequest, now_ms: int
) -> Decision:
    member, info = _classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    state.touch(group.group_id, member.member_id, info.session_timeout_ms, now_ms)
    must_join = (
        member.epoch < group.epoch
        or member.state is MemberState.UNREVOKED
        or (member.state is MemberState.UNRELEASED and not group.waits_for_others(member))
    )
    if must_join:
        _await_join(state, group, member, now_ms)
    return Decision(reply=REBALANCING if must_join else ALIVE)


# LeaveGroup


def leave(
    state: GroupState, group: ConsumerGroup, request: LeaveGroupRequest, now_ms: int
) -> Decision:
    responses = []
    leaving: dict[str, Member] = {}
    for identity in request.members:
        code = ErrorCode.NONE
        try:
            member = _leaving(group, identity)
            leaving[member.member_id] = member
        except ApiError as error:
            code = error.code
        responses.append(
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=int(code),
            )
        )
    response = LeaveGroupResponse(members=responses)
    return fence(state, group, list(leaving.values()), response, now_ms)


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> Member:
    """An administrator names a static member by its instance id alone."""
    if identity.group_instance_id is None or identity.member_id:
        return group.validated(identity.member_id, identity.group_instance_id)
    member = group.static_member(identity.group_instance_id)
    if member is None:
        raise UnknownMemberId
    return member

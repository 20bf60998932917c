"""JoinGroup to a classic group, or to one that is not there yet."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import (
    ClassicGroup,
    ClassicMember,
    State,
    protocols_of,
)
from barnabas.coordinator.group.classic.rebalance import (
    complete_if_all_joined,
    drop_member,
    failed_join,
    join_response,
    prepare,
    rebalance_or_complete,
)
from barnabas.coordinator.group.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas.coordinator.group.outcome import Outcome
from barnabas.coordinator.group.state import SESSION
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.runtime_types import Ticket

log = logging.getLogger(__name__)

KNOWN_ID_SINCE = 4
"""Since this version a new member is given its id before it joins (KIP-394)."""
SKIP_SINCE = 9
"""Since this version a leader can be told to leave the assignment alone (KIP-814)."""


class _Join:
    """One JoinGroup on its way through the group."""

    def __init__(
        self,
        state: GroupState,
        call: Call,
        group: ClassicGroup,
        *,
        ticket: Ticket,
        now_ms: int,
        out: Outcome,
    ) -> None:
        self.state = state
        self.call = call
        self.request: JoinGroupRequest = call.request
        self.group = group
        self.ticket = ticket
        self.now_ms = now_ms
        self.out = out
        self.protocols = protocols_of(self.request.protocols)

    def parked(self) -> Decision:
        """The join waits, or was answered together with others."""
        return self.out.decision()

    def refused(self, code: ErrorCode, member_id: str = "") -> Decision:
        return self.out.decision(failed_join(member_id, code))

    # A member without an id

    def new_member(self) -> Decision:
        request = self.request
        if not self.group.supports(request.protocol_type, request.protocols):
            return self.refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        prefix = request.group_instance_id or self.call.client_id
        member_id = f"{prefix}-{self.state.new_id()}"
        if request.group_instance_id is not None:
            if request.group_instance_id in self.group.static:
                return self.replace_static(request.group_instance_id, member_id)
            return self.add(member_id)
        if self.call.version < KNOWN_ID_SINCE:
            return self.add(member_id)
        self.group.pending.add(member_id)
        self.state.touch(self.group.group_id, member_id, request.session_timeout_ms, self.now_ms)
        return self.refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def add(self, member_id: str) -> Decision:
        group, request = self.group, self.request
        member = ClassicMember(
            member_id=member_id,
            instance_id=request.group_instance_id,
            client_id=self.call.client_id,
            client_host=self.call.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=self.protocols,
            is_new=True,
        )
        if group.state is State.PREPARING and group.previous_state is State.EMPTY:
            group.joined_since = True
        group.add(member, request.protocol_type)
        group.park_join(member, self.ticket)
        # It sends no heartbeats yet, and whether its connection still lives cannot be seen here:
        # a member that gave up must not hold up the group for ever.
        self.state.touch(group.group_id, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS, self.now_ms)
        rebalance_or_complete(self.state, group, self.out, self.now_ms)
        return self.parked()

    # A static member that comes back

    def replace_static(self, instance_id: str, new_id: str) -> Decision:
        state, group, now_ms = self.state, self.group, self.now_ms
        before = group.members[group.static[instance_id]]
        old_id, old_leader = before.member_id, group.leader
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.out.answer(group.take_join(before), failed_join(old_id, fenced))
        sync, before.sync_ticket = before.sync_ticket, None
        self.out.answer(sync, SyncGroupResponse(error_code=int(fenced)))
        reads = group.topics_of(before)
        member = group.rename_static(instance_id, new_id)
        member.client_id, member.client_host = self.call.client_id, self.call.client_host
        state.timers.cancel((SESSION, group.group_id, old_id))
        self.update(member)
        state.touch(group.group_id, new_id, member.session_timeout_ms, now_ms)
        if group.state is State.STABLE:
            same = group.select_protocol() == group.protocol and group.topics_of(member) == reads
            if same:
                return self._returned(member, old_leader or "")
        group.park_join(member, self.ticket)
        if group.can_rebalance:
            # The assignment no longer fits, or the leader may be making one for the old id.
            prepare(state, group, self.out, now_ms)
        else:
            complete_if_all_joined(state, group, self.out, now_ms)
        return self.parked()

    def _returned(self, member: ClassicMember, old_leader: str) -> Decision:
        """Nothing changes for the others: the generation goes on with the new id."""
        group = self.group
        log.info(
            "group %s: static member %s is back, generation %d goes on",
            group.group_id,
            member.instance_id,
            group.generation,
        )
        assignments = {m.member_id: m.assignment for m in group.members.values()}
        group.subscribed = group.compute_subscribed()
        self.out.records.append(records.group_metadata(group.group_id, group.to_value(assignments)))
        if self.call.version >= SKIP_SINCE:
            is_leader = group.leader == member.member_id
            return self.out.decision(join_response(group, member, skip_assignment=is_leader))
        response = join_response(group, member)
        response.leader = old_leader  # an old client that were told it leads would assign anew
        response.members = []
        return self.out.decision(response)

    # A member that has an id

    def known_member(self) -> Decision:
        group, request = self.group, self.request
        member_id = request.member_id
        if not group.supports(request.protocol_type, request.protocols):
            return self.refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
        if member_id in group.pending:
            if request.group_instance_id is not None:
                return self.refused(ErrorCode.UNKNOWN_MEMBER_ID, member_id)
            return self.add(member_id)
        try:
            member = group.validate_member(member_id, request.group_instance_id)
        except ApiError as error:
            return self.refused(error.code, member_id)
        changed = member.protocols != self.protocols
        match group.state:
            case State.PREPARING:
                return self.rejoin(member)
            case State.COMPLETING if not changed:
                return self.out.decision(join_response(group, member))
            case State.STABLE if not changed and group.leader != member_id:
                return self.out.decision(join_response(group, member))
            case State.COMPLETING | State.STABLE:
                # A leader that joins again wants a rebalance, even if it says nothing new.
                return self.rejoin(member)
            case _:
                return self.refused(ErrorCode.UNKNOWN_MEMBER_ID, member_id)

    def rejoin(self, member: ClassicMember) -> Decision:
        group = self.group
        earlier = group.take_join(member)
        if earlier is not None:
            code = ErrorCode.REBALANCE_IN_PROGRESS
            self.out.answer(earlier, failed_join(member.member_id, code))
        self.update(member)
        group.park_join(member, self.ticket)
        rebalance_or_complete(self.state, group, self.out, self.now_ms)
        return self.parked()

    def update(self, member: ClassicMember) -> None:
        self.group.update(
            member,
            protocols=self.protocols,
            rebalance_timeout_ms=self.request.rebalance_timeout_ms,
            session_timeout_ms=self.request.session_timeout_ms,
        )


def join(
    state: GroupState, call: Call, ticket: Ticket, now_ms: int, out: Outcome | None = None
) -> Decision:
    """Decide on a JoinGroup that is not for a consumer group with members."""
    request: JoinGroupRequest = call.request
    out = out or Outcome()
    group = state.classic(request.group_id)
    if group is None:
        if request.member_id:
            return out.decision(failed_join(request.member_id, ErrorCode.UNKNOWN_MEMBER_ID))
        group = ClassicGroup(request.group_id)
        if group.supports(request.protocol_type, request.protocols):
            state.groups[request.group_id] = group
    if not _has_room(group, request.member_id, state.config.max_size):
        return _turn_away(state, group, request.member_id, now_ms, out)
    handled = _Join(state, call, group, ticket=ticket, now_ms=now_ms, out=out)
    return handled.known_member() if request.member_id else handled.new_member()


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """Who waits already, or is a member, is let in; others while there is room."""
    member = group.members.get(member_id)
    match group.state:
        case State.EMPTY:
            return True
        case State.PREPARING:
            waits = member is not None and member.join_ticket is not None
            return waits or group.joining < max_size
        case _:
            return member is not None or len(group.members) < max_size


def _turn_away(
    state: GroupState, group: ClassicGroup, member_id: str, now_ms: int, out: Outcome
) -> Decision:
    member = group.members.get(member_id)
    if member is not None:
        drop_member(group, member, out)
        state.timers.cancel((SESSION, group.group_id, member_id))
    group.pending.discard(member_id)
    complete_if_all_joined(state, group, out, now_ms)
    reply = JoinGroupResponse(error_code=int(ErrorCode.GROUP_MAX_SIZE_REACHED))
    return out.decision(reply)

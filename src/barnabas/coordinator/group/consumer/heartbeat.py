"""ConsumerGroupHeartbeat: join, stay, reconcile.

Those without news are in `steady.py`.  Anything else works on a draft, in the order of the records:
the member, the patterns, the topics and the epoch, the target, what the member has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    FencedInstanceId,
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
    UnreleasedInstanceId,
    UnsupportedAssignor,
)
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.consumer.answers import answer_to, assignment_of
from barnabas.coordinator.group.consumer.convert import end_classic, to_consumer
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.consumer.member import LEFT, LEFT_FOR_NOW, Member
from barnabas.coordinator.group.consumer.progress import settle
from barnabas.coordinator.group.outcome import Outcome
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.records import Partitions
    from barnabas.coordinator.group.state import GroupState

CLIENT_CHOOSES_ID_SINCE = 1


def validate(
    request: ConsumerGroupHeartbeatRequest, version: int, assignors: Iterable[str]
) -> None:
    """InvalidRequest, or UnsupportedAssignor, if the request contradicts itself."""
    epoch = request.member_epoch
    if not request.group_id:
        raise InvalidRequest("GroupId can't be empty.")
    if request.instance_id == "":
        raise InvalidRequest("InstanceId can't be empty.")
    if request.rack_id == "":
        raise InvalidRequest("RackId can't be empty.")
    needs_id = version >= CLIENT_CHOOSES_ID_SINCE or epoch > 0 or epoch < 0
    if needs_id and not request.member_id:
        raise InvalidRequest("MemberId can't be empty.")
    if epoch == LEFT_FOR_NOW and request.instance_id is None:
        raise InvalidRequest("InstanceId can't be null.")
    if epoch < LEFT_FOR_NOW:
        raise InvalidRequest(f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    if epoch == 0:
        _validate_join(request)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}."
        )


def _validate_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )


def heartbeat(state: GroupState, call: Call, now_ms: int) -> Decision:
    """Decide on a heartbeat, which is valid, of a member that joins or stays."""
    return _Beat(state, call, now_ms).decide()


class _Beat:
    """One heartbeat on its way through the group."""

    def __init__(self, state: GroupState, call: Call, now_ms: int) -> None:
        self.state = state
        self.call = call
        self.request: ConsumerGroupHeartbeatRequest = call.request
        self.now_ms = now_ms
        self.joins = self.request.member_epoch == 0
        self.ended: ClassicGroup | None = None
        """The classic group that this heartbeat brings to its end."""

    def decide(self) -> Decision:
        state, request, now_ms = self.state, self.request, self.now_ms
        draft, live = self.open_group()
        member_id = request.member_id or state.new_id()
        full = len(draft.group.members) >= state.config.consumer_max_size
        if full and member_id not in draft.group.members:
            raise GroupMaxSizeReached(
                "The consumer group has reached its maximum capacity of "
                f"{state.config.consumer_max_size} members."
            )
        before = self.find_member(draft, member_id)
        after = settle(
            state,
            draft,
            live,
            before=before,
            told=self.told(before),
            owned=self.owned(),
            now_ms=now_ms,
            # What a classic group leaves behind may be no assignment at all: make one.
            bump=self.ended is not None,
        )
        response = answer_to(state, request.group_id, after, now_ms)
        if self.joins or self.is_full_request() or after.assigned != before.assigned:
            response.assignment = assignment_of(after.assigned)
        out = Outcome()
        if self.ended is not None:
            end_classic(state, self.ended, out, now_ms)
            if self.ended.stored is not None:
                out.records.append(records.group_metadata(request.group_id, None))
        out.records += draft.records
        return out.decision(response)

    def open_group(self) -> tuple[Draft, ConsumerGroup | None]:
        """The group to work on; a classic group becomes a consumer group, if it can."""
        state, group_id = self.state, self.request.group_id
        group = state.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return Draft(group), group
        if group is None and self.joins:
            return Draft(ConsumerGroup(group_id)), None
        if not isinstance(group, ClassicGroup) or not self.joins:
            raise GroupIdNotFound(f"Consumer group {group_id} not found.")
        self.ended = group
        return Draft(ConsumerGroup(group_id)) if group.is_empty else to_consumer(state, group), None

    # The member

    def find_member(self, draft: Draft, member_id: str) -> Member:
        """The member as it was, or a new one, or one that takes a static member's place."""
        group, request = draft.group, self.request
        if request.instance_id is not None:
            return self.find_static(draft, member_id, request.instance_id)
        member = group.members.get(member_id)
        if member is None:
            if not self.joins:
                raise UnknownMemberId(f"Member {member_id} is not a member of the group.")
            return Member(member_id=member_id)
        self.check_epoch(member)
        return member

    def find_static(self, draft: Draft, member_id: str, instance_id: str) -> Member:
        group = draft.group
        existing = group.static_member(instance_id)
        if not self.joins:
            if existing is None:
                raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
            if existing.member_id != member_id:
                raise FencedInstanceId(
                    f"Static member {member_id} with instance id {instance_id} was fenced by "
                    f"member {existing.member_id}."
                )
            self.check_epoch(existing)
            return existing
        if existing is None:
            return group.members.get(member_id) or Member(member_id=member_id)
        if existing.member_id == member_id and existing.epoch >= 0 and not existing.uses_classic:
            return existing
        if existing.epoch != LEFT_FOR_NOW and not existing.uses_classic:
            raise UnreleasedInstanceId(
                f"Static member {member_id} with instance id {instance_id} cannot join the group "
                f"because the instance id is owned by {existing.member_id} member."
            )
        return replace_static(draft, existing, member_id)

    def check_epoch(self, member: Member) -> None:
        """A member may be one epoch behind: the answer that told it of the new one may be lost."""
        epoch = self.request.member_epoch
        if epoch in {0, member.epoch}:
            return
        relation = "greater" if epoch > member.epoch else "smaller"
        if epoch == member.previous_epoch and epoch < member.epoch:
            owned = self.owned()
            if owned is not None and _is_subset(owned, member.assigned):
                return
        raise FencedMemberEpoch(
            f"The consumer group member has a {relation} member epoch ({epoch}) than the one "
            f"known by the group coordinator ({member.epoch}). The member must abandon all its "
            "partitions and rejoin."
        )

    def told(self, member: Member) -> Member:
        """The member with what the request says of it; what is null has not changed."""
        request = self.request
        if (
            request.subscribed_topic_names is None
            and request.subscribed_topic_regex is None
            and request.rebalance_timeout_ms < 0
            and request.instance_id == member.instance_id
            and not request.rack_id
            and not request.server_assignor
            and self.call.client_id == member.client_id
            and self.call.client_host == member.client_host
            and member.classic is None
        ):
            return member
        names = member.names
        if request.subscribed_topic_names is not None:
            names = tuple(sorted(set(request.subscribed_topic_names)))
        regex = request.subscribed_topic_regex
        timeout_ms = request.rebalance_timeout_ms
        return member._replace(
            instance_id=request.instance_id or member.instance_id,
            rack_id=request.rack_id or member.rack_id,
            client_id=self.call.client_id,
            client_host=self.call.client_host,
            rebalance_timeout_ms=timeout_ms if timeout_ms >= 0 else member.rebalance_timeout_ms,
            names=names,
            regex=member.regex if regex is None else regex,
            assignor=request.server_assignor or member.assignor,
            classic=None,
        )

    # The request

    def owned(self) -> Partitions | None:
        if self.request.topic_partitions is None:
            return None
        return {item.topic_id: frozenset(item.partitions) for item in self.request.topic_partitions}

    def is_full_request(self) -> bool:
        """A member that is not sure what the coordinator knows tells everything."""
        request = self.request
        subscribes = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        return (
            request.rebalance_timeout_ms != -1
            and subscribes
            and request.topic_partitions is not None
        )


def replace_static(draft: Draft, existing: Member, member_id: str) -> Member:
    """A static member comes back under a new id: it inherits the old one's place.

    Timers of the old id find nobody when they are due.
    """
    group = draft.group
    target = group.target_of(existing.member_id)
    member = existing._replace(member_id=member_id, epoch=0, previous_epoch=0)
    draft.remove_member(existing.member_id)
    draft.put_member(member)
    draft.write(records.consumer_target(group.group_id, member_id, target))
    draft.put_current(member)
    return member


def _is_subset(owned: Partitions, assigned: Partitions) -> bool:
    return all(indexes <= assigned.get(topic, frozenset()) for topic, indexes in owned.items())


def leaves(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.member_epoch in {LEFT, LEFT_FOR_NOW}

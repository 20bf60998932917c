"""A classic group and its members.

What is durable of it is one record, written when the leader's assignment arrives and when the last
member has gone; `stored` is that record's value and changes in replay only.  Everything else is
soft: it is made from the record when the group is loaded, and moves with requests and time.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from barnabas.base.errors import (
    FencedInstanceId,
    IllegalGeneration,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from barnabas.coordinator.group.embedded import PROTOCOL_TYPE, topics_in
from barnabas.protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from barnabas.protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponseMember

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.coordinator.runtime_types import Ticket


class State(enum.Enum):
    """Where a classic group stands; the values are what clients are shown."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


ALLOWED = {
    State.EMPTY: {State.PREPARING},
    State.PREPARING: {State.COMPLETING, State.EMPTY},
    State.COMPLETING: {State.STABLE, State.PREPARING},
    State.STABLE: {State.PREPARING},
}


@dataclass(slots=True, kw_only=True, eq=False)
class ClassicMember:
    """One member; `join_ticket` and `sync_ticket` stand for requests of it that wait."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...] = ()
    assignment: bytes = b""
    is_new: bool = False
    """Its first join is still waiting: it knows no id, so it sends no heartbeats."""
    join_ticket: Ticket | None = None
    sync_ticket: Ticket | None = None

    def metadata(self, protocol: str) -> bytes:
        for name, data in self.protocols:
            if name == protocol:
                return data
        return b""

    def vote(self, candidates: set[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)


def protocols_of(items: Sequence[JoinGroupRequestProtocol]) -> tuple[tuple[str, bytes], ...]:
    return tuple((item.name, bytes(item.metadata)) for item in items)


@dataclass(slots=True, eq=False)
class ClassicGroup:
    """One group.  Owned by one shard."""

    kind: ClassVar[str] = "classic"

    group_id: str
    stored: GroupMetadataValue | None = None
    """What the log says; None: nothing yet."""
    state: State = State.EMPTY
    previous_state: State = State.EMPTY
    state_timestamp: int | None = None
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member id by instance id."""
    pending: set[str] = field(default_factory=set)
    """Ids that were given out and have not joined yet."""
    unsynced: set[str] = field(default_factory=set)
    """Members of this generation whose SyncGroup is awaited."""
    subscribed: frozenset[str] | None = frozenset()
    """The topics that the members read; None: cannot be known."""
    joined_since: bool = False
    """Someone joined during the present part of the initial delay."""
    initial_remaining_ms: int = 0
    joining: int = 0
    """How many members wait in a join."""
    _support: dict[str, int] = field(default_factory=dict)
    """How many members know a protocol."""

    # Look-ups

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def is_consumer(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    @property
    def can_rebalance(self) -> bool:
        return State.PREPARING in ALLOWED[self.state]

    @property
    def all_joined(self) -> bool:
        return not self.pending and self.joining == len(self.members)

    def supports(self, protocol_type: str, protocols: Sequence[JoinGroupRequestProtocol]) -> bool:
        """Whether a member with these protocols can be in the group."""
        if not self.members:
            return bool(protocol_type) and bool(protocols)
        if protocol_type != self.protocol_type:
            return False
        count = len(self.members)
        return any(self._support.get(p.name) == count for p in protocols)

    def validate_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        if instance_id is not None:
            known = self.static.get(instance_id)
            if known is None:
                raise UnknownMemberId
            if known != member_id:
                raise FencedInstanceId
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId
        return member

    def validate_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        generation: int,
        transactional: bool,
    ) -> ClassicMember | None:
        """Who commits: a member of this generation, or nobody in particular.  ApiError: fenced."""
        if generation < 0 and self.is_empty:
            return None
        member = None
        if generation >= 0 or member_id or instance_id is not None:
            member = self.validate_member(member_id, instance_id)
            if generation != self.generation:
                raise IllegalGeneration
        elif not transactional:
            raise UnknownMemberId
        if not transactional and self.state is State.COMPLETING:
            raise RebalanceInProgress
        return member

    def is_subscribed(self, topic: str) -> bool:
        if self.subscribed is None:
            return self.is_consumer
        return topic in self.subscribed

    def check_offset_delete(self) -> None:
        """ApiError if offsets cannot be deleted; of topics that are read they cannot anyway."""
        if not self.is_empty and not self.is_consumer:
            raise NonEmptyGroup

    def response_members(self) -> list[JoinGroupResponseMember]:
        """What the leader gets to see."""
        protocol = self.protocol or ""
        return [
            JoinGroupResponseMember(
                member_id=m.member_id,
                group_instance_id=m.instance_id,
                metadata=m.metadata(protocol),
            )
            for m in self.members.values()
        ]

    # Members

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        assert member.member_id not in self.members
        if not self.members:
            self.protocol_type = protocol_type
        assert protocol_type == self.protocol_type, "checked by supports"
        if self.leader is None:
            self.leader = member.member_id
        if member.instance_id is not None:
            assert member.instance_id not in self.static, "replaced, not added"
            self.static[member.instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending.discard(member.member_id)
        self._count(member, 1)

    def update(
        self,
        member: ClassicMember,
        *,
        protocols: tuple[tuple[str, bytes], ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """A member joined again, maybe with other metadata."""
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        if member.protocols != protocols:
            self._count(member, -1)
            member.protocols = protocols
            self._count(member, 1)

    def park_join(self, member: ClassicMember, ticket: Ticket) -> None:
        """The member's join waits.  An earlier one of it, if any, must have been taken."""
        assert member.join_ticket is None
        member.join_ticket = ticket
        self.joining += 1

    def take_join(self, member: ClassicMember) -> Ticket | None:
        """The ticket of the member's waiting join, which waits no longer."""
        ticket, member.join_ticket = member.join_ticket, None
        if ticket is not None:
            self.joining -= 1
        return ticket

    def remove(self, member_id: str) -> ClassicMember | None:
        """Forget a member, or an id that was given out."""
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        assert member.join_ticket is None, "answered before it is removed"
        self._count(member, -1)
        if member.instance_id is not None:
            del self.static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def rename_static(self, instance_id: str, new_id: str) -> ClassicMember:
        """A static member came back under a new id; its place among the members stays."""
        old_id = self.static[instance_id]
        self.members = {
            (new_id if key == old_id else key): member for key, member in self.members.items()
        }
        member = self.members[new_id]
        member.member_id = new_id
        self.static[instance_id] = new_id
        self.unsynced.discard(old_id)
        if self.leader == old_id:
            self.leader = new_id
        return member

    def elect_leader(self) -> bool:
        """Keep the leader if it has joined, or take the first that has.  False: nobody has."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.join_ticket is not None:
            return True
        joined = (m.member_id for m in self.members.values() if m.join_ticket is not None)
        found = next(joined, None)
        if found is not None:
            self.leader = found
        return found is not None

    # Generations

    def transition(self, state: State, now_ms: int) -> None:
        assert state in ALLOWED[self.state], f"{self.group_id}: {self.state} -> {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp = now_ms

    def next_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.unsynced.clear()
        if self.members:
            self.protocol = self.select_protocol()
            self.transition(State.COMPLETING, now_ms)
        else:
            self.protocol = None
            self.leader = None
            self.transition(State.EMPTY, now_ms)
        self.subscribed = self.compute_subscribed()

    def select_protocol(self) -> str:
        """The protocol that all know and most prefer."""
        count = len(self.members)
        candidates = {name for name, known in self._support.items() if known == count}
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def compute_subscribed(self) -> frozenset[str] | None:
        if not self.is_consumer:
            return None
        protocol, topics = self.protocol or "", set[str]()
        # Most members say the same.
        for metadata in {member.metadata(protocol) for member in self.members.values()}:
            reads = topics_in(metadata)
            if reads is None:
                return None
            topics |= reads
        return frozenset(topics)

    def topics_of(self, member: ClassicMember) -> frozenset[str] | None:
        """The topics that a member reads; None: cannot be known."""
        if not self.is_consumer:
            return None
        return topics_in(member.metadata(self.protocol or ""))

    def _count(self, member: ClassicMember, change: int) -> None:
        for name in {name for name, _ in member.protocols}:
            known = self._support.get(name, 0) + change
            if known:
                self._support[name] = known
            else:
                del self._support[name]

    # The record

    def to_value(self, assignments: dict[str, bytes]) -> GroupMetadataValue:
        protocol = self.protocol or ""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=-1 if self.state_timestamp is None else self.state_timestamp,
            members=[
                MemberMetadata(
                    member_id=m.member_id,
                    group_instance_id=m.instance_id,
                    client_id=m.client_id,
                    client_host=m.client_host,
                    rebalance_timeout=m.rebalance_timeout_ms,
                    session_timeout=m.session_timeout_ms,
                    subscription=m.metadata(protocol),
                    assignment=assignments.get(m.member_id, b""),
                )
                for m in self.members.values()
            ],
        )

    @classmethod
    def from_value(cls, group_id: str, value: GroupMetadataValue) -> ClassicGroup:
        """The group as the log has it: stable, or empty."""
        group = cls(group_id)
        group.stored = value
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol = value.protocol
        group.leader = value.leader
        if value.current_state_timestamp >= 0:
            group.state_timestamp = value.current_state_timestamp
        for m in value.members:
            timeout = m.session_timeout if m.rebalance_timeout < 0 else m.rebalance_timeout
            member = ClassicMember(
                member_id=m.member_id,
                instance_id=m.group_instance_id,
                client_id=m.client_id,
                client_host=m.client_host,
                rebalance_timeout_ms=timeout,
                session_timeout_ms=m.session_timeout,
                protocols=((value.protocol or "", bytes(m.subscription)),),
                assignment=bytes(m.assignment),
            )
            group.members[m.member_id] = member
            group._count(member, 1)
            if m.group_instance_id is not None:
                group.static[m.group_instance_id] = m.member_id
        if group.members:
            group.state = group.previous_state = State.STABLE
        group.subscribed = group.compute_subscribed()
        return group

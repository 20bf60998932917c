"""A member of a consumer group.  Immutable: a change makes a new one, and a record."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from barnabas.coordinator.group.records import (
    NO_PARTITIONS,
    Partitions,
    partitions_of,
    topic_partitions,
)
from barnabas.protocol.messages.group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)

if TYPE_CHECKING:
    from typing import Self

LEFT = -1
"""The epoch with which a member leaves."""
LEFT_FOR_NOW = -2
"""The epoch of a static member that left and may come back within its session."""


class MemberState(enum.IntEnum):
    """How far a member has come towards its target; the numbers are those of the records."""

    STABLE = 0
    """It has what it should have at its epoch."""
    UNREVOKED = 1
    """It has yet to give something up before it moves to the next epoch."""
    UNRELEASED = 2
    """It waits for partitions that others have yet to give up."""
    UNKNOWN = 127


_STATES = {int(state): state for state in MemberState}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicInfo:
    """What only members of the classic protocol have."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class Member(NamedTuple):
    """One member: what it told about itself, and what it was given."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    names: tuple[str, ...] = ()
    """The topics it subscribed to by name, sorted."""
    regex: str = ""
    """The pattern it subscribed to, or nothing."""
    assignor: str | None = None
    classic: ClassicInfo | None = None

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Partitions = NO_PARTITIONS
    revoking: Partitions = NO_PARTITIONS

    @property
    def uses_classic(self) -> bool:
        return self.classic is not None

    @property
    def owned(self) -> Partitions:
        """What nobody else may have: its partitions, and those that it is still to give up."""
        if not self.revoking:
            return self.assigned
        return {
            topic: self.assigned.get(topic, frozenset()) | self.revoking.get(topic, frozenset())
            for topic in {**self.assigned, **self.revoking}
        }

    def is_reconciled(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def moved(
        self,
        *,
        state: MemberState,
        epoch: int,
        assigned: Partitions,
        revoking: Partitions,
    ) -> Self:
        """The member with another assignment; only a new epoch makes the old one previous."""
        return self._holding(
            epoch=epoch,
            previous_epoch=self.epoch if epoch != self.epoch else self.previous_epoch,
            state=state,
            assigned=assigned,
            revoking=revoking,
        )

    def moved_on(self, epoch: int) -> Self:
        """A stable member at a later epoch, with what it has."""
        given = (epoch, self.epoch, MemberState.STABLE, self.assigned, NO_PARTITIONS)
        return type(self)._make(self[:_TOLD_FIELDS] + given)

    def _holding(
        self,
        *,
        epoch: int,
        previous_epoch: int,
        state: MemberState,
        assigned: Partitions,
        revoking: Partitions,
    ) -> Self:
        """The member with all that it was given replaced: much cheaper than `_replace`."""
        given = (epoch, previous_epoch, state, assigned, revoking)
        return type(self)._make(self[:_TOLD_FIELDS] + given)

    # Records

    def to_metadata(self) -> ConsumerGroupMemberMetadataValue:
        classic = None
        if self.classic is not None:
            classic = ClassicMemberMetadata(
                session_timeout_ms=self.classic.session_timeout_ms,
                supported_protocols=[
                    ClassicProtocol(name=name, metadata=data)
                    for name, data in self.classic.protocols
                ],
            )
        return ConsumerGroupMemberMetadataValue(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=list(self.names),
            subscribed_topic_regex=self.regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.assignor,
            classic_member_metadata=classic,
        )

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue) -> Self:
        classic = None
        if value.classic_member_metadata is not None:
            classic = ClassicInfo(
                session_timeout_ms=value.classic_member_metadata.session_timeout_ms,
                protocols=tuple(
                    (p.name, bytes(p.metadata))
                    for p in value.classic_member_metadata.supported_protocols
                ),
            )
        return self._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            names=tuple(sorted(set(value.subscribed_topic_names))),
            regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=classic,
        )

    def to_current(self) -> ConsumerGroupCurrentMemberAssignmentValue:
        return ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=int(self.state),
            assigned_partitions=topic_partitions(self.assigned),
            partitions_pending_revocation=topic_partitions(self.revoking),
        )

    def with_current(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> Self:
        return self._holding(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=_STATES.get(value.state, MemberState.UNKNOWN),
            assigned=partitions_of(value.assigned_partitions),
            revoking=partitions_of(value.partitions_pending_revocation),
        )

    def without_current(self) -> Self:
        """A tombstone of its assignment: it left, and may be replaced."""
        return self._holding(
            epoch=LEFT,
            previous_epoch=LEFT,
            state=MemberState.STABLE,
            assigned=NO_PARTITIONS,
            revoking=NO_PARTITIONS,
        )


_TOLD_FIELDS = Member._fields.index("epoch")
"""What a member told about itself comes first, then what it was given."""

"""A consumer group.  All of it is durable, except what is called soft.

Changed by `replay`, and by `put` for who has added the record to a batch already.  A decision that
takes several steps works on a `Draft` (`draft.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from barnabas.base.errors import (
    ApiError,
    FencedInstanceId,
    IllegalGeneration,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)
from barnabas.coordinator.group import records
from barnabas.coordinator.group.consumer.member import LEFT, Member
from barnabas.coordinator.group.records import NO_PARTITIONS, Partitions, partitions_of
from barnabas.coordinator.group.topics import TopicInfo
from barnabas.protocol.messages import group_records as gr

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.moving import MovingRecords
    from barnabas.coordinator.runtime_types import CoordinatorRecord

EPOCHS_IN_COMMITS_SINCE = 9
"""The version of OffsetCommit that members of the newer protocol must use."""


class ResolvedRegex(NamedTuple):
    """The topics that a pattern matched, by what was known at `version` and `timestamp`."""

    topics: frozenset[str]
    version: int
    timestamp: int


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """One group."""

    kind: ClassVar[str] = "consumer"

    group_id: str
    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    """Member id by instance id."""
    target: dict[str, Partitions] = field(default_factory=dict)
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    """The subscribed topics as they were at the group's epoch."""
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    regex_users: dict[str, int] = field(default_factory=dict)
    """How many members use a pattern."""
    owners: dict[tuple[bytes, int], str] = field(default_factory=dict)
    """Who has a partition, or has yet to give it up."""
    refresh_at_ms: int = 0
    """Soft: when to compare the topics with the cluster's."""
    assigned_at_ms: int | None = None
    """Soft: when the last target was made."""
    resolved_at_ms: int | None = None
    """Soft: when the patterns were last matched with the topics ..."""
    resolved_version: int = -1
    """... and with which version of them."""
    moving: dict[str, MovingRecords] = field(default_factory=dict)
    """Soft: by member, what its records have in common while it has the same partitions."""
    subscribed: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = field(default_factory=dict)
    """Soft: ids of the topics that members with these names and this pattern read."""

    # Look-ups

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        """What clients are shown."""
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        if all(member.is_reconciled(self.target_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    def member(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"{member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, instance_id: str | None) -> Member | None:
        if instance_id is None:
            return None
        member_id = self.static.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def validated(self, member_id: str, instance_id: str | None) -> Member:
        """The member, if it is the one that owns the instance id that it names."""
        if instance_id is None:
            return self.member(member_id)
        member = self.static_member(instance_id)
        if member is None:
            raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise FencedInstanceId(
                f"Member {member_id} with instance id {instance_id} was fenced by "
                f"{member.member_id}."
            )
        return member

    def target_of(self, member_id: str) -> Partitions:
        return self.target.get(member_id, NO_PARTITIONS)

    def needs_refresh(self, now_ms: int) -> bool:
        return now_ms >= self.refresh_at_ms

    def subscribed_topics(self) -> set[str]:
        """Every topic that some member reads."""
        found = {name for names in {m.names for m in self.members.values()} for name in names}
        for regex in self.regex_users:
            resolved = self.regexes.get(regex)
            if resolved is not None:
                found |= resolved.topics
        return found

    def topics_of(self, member: Member) -> set[str]:
        """The topics that `member` reads."""
        resolved = self.regexes.get(member.regex) if member.regex else None
        return {*member.names, *(resolved.topics if resolved else ())}

    def is_subscribed(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    def assignor(self, default: str) -> str:
        """The assignor that most members ask for."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.assignor is not None:
                votes[member.assignor] = votes.get(member.assignor, 0) + 1
        return max(votes, key=lambda name: (votes[name], name)) if votes else default

    def waits_for_others(self, member: Member) -> bool:
        """Whether a partition of the member's target is still in someone else's hands."""
        return any(
            self.owners.get((topic, index), member.member_id) != member.member_id
            for topic, indexes in self.target_of(member.member_id).items()
            for index in indexes
        )

    def validate_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        transactional: bool,
        version: int,
    ) -> None:
        """ApiError if a commit comes from a member that was fenced, or is behind or ahead."""
        known = self.members.get(member_id)
        is_new_enough = transactional or version >= EPOCHS_IN_COMMITS_SINCE
        if is_new_enough and known is not None and known.epoch == epoch and known.classic is None:
            return  # as nearly all commits are
        if epoch < 0 and not self.members:
            return
        if transactional and epoch < 0 and not member_id and instance_id is None:
            return
        member = self.member(member_id)
        if not transactional and not member.uses_classic and version < EPOCHS_IN_COMMITS_SINCE:
            raise UnsupportedVersion(
                "OffsetCommit version 9 or above must be used by members of this group."
            )
        self.check_epoch(member, epoch)

    def validate_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        self.check_epoch(self.member(member_id or ""), epoch)

    def check_epoch(self, member: Member, epoch: int) -> None:
        if epoch == member.epoch:
            return
        error: type[ApiError] = IllegalGeneration if member.uses_classic else StaleMemberEpoch
        raise error(f"Epoch {epoch} is not the member's epoch {member.epoch}.")

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that make the group be forgotten.  Members go before the group itself."""
        gone: list[CoordinatorRecord] = []
        gone += [records.consumer_current(self.group_id, m, None) for m in self.members]
        gone += [records.consumer_target(self.group_id, m, None) for m in self.target]
        gone.append(records.consumer_target_epoch(self.group_id, None))
        gone += [records.consumer_member(self.group_id, m, None) for m in self.members]
        gone.append(records.consumer_topics(self.group_id, None))
        gone += [records.consumer_regex(self.group_id, r, None) for r in self.regexes]
        gone.append(records.consumer_epoch(self.group_id, None))
        return gone

    def copy(self) -> ConsumerGroup:
        return ConsumerGroup(
            self.group_id,
            self.epoch,
            self.target_epoch,
            dict(self.members),
            dict(self.static),
            dict(self.target),
            dict(self.topics),
            dict(self.regexes),
            dict(self.regex_users),
            dict(self.owners),
            self.refresh_at_ms,
            self.assigned_at_ms,
            self.resolved_at_ms,
            self.resolved_version,
        )

    def dump(self) -> dict[str, object]:
        """Everything durable."""
        return {
            "kind": self.kind,
            "epoch": self.epoch,
            "target_epoch": self.target_epoch,
            "members": dict(self.members),
            "static": dict(self.static),
            "target": {m: dict(t) for m, t in self.target.items()},
            "topics": dict(self.topics),
            "regexes": dict(self.regexes),
            "owners": dict(self.owners),
        }

    # Replay

    def replay(self, record: CoordinatorRecord) -> bool:
        """Apply a record of this group.  False: the group is forgotten."""
        if isinstance(record.result, Member):
            self.put(record.result)
            return True
        key, value = record.key, record.value
        match key:
            case gr.ConsumerGroupMetadataKey():
                assert value is None or isinstance(value, gr.ConsumerGroupMetadataValue)
                if value is None:
                    return False
                self.epoch = value.epoch
            case gr.ConsumerGroupPartitionMetadataKey():
                assert value is None or isinstance(value, gr.ConsumerGroupPartitionMetadataValue)
                self._replay_topics(() if value is None else value.topics)
            case gr.ConsumerGroupMemberMetadataKey():
                assert value is None or isinstance(value, gr.ConsumerGroupMemberMetadataValue)
                self._replay_member(key.member_id, value)
            case gr.ConsumerGroupTargetAssignmentMetadataKey():
                assert value is None or isinstance(
                    value, gr.ConsumerGroupTargetAssignmentMetadataValue
                )
                self.target_epoch = -1 if value is None else value.assignment_epoch
                self.subscribed.clear()
            case gr.ConsumerGroupTargetAssignmentMemberKey():
                assert value is None or isinstance(
                    value, gr.ConsumerGroupTargetAssignmentMemberValue
                )
                if value is None:
                    self.target.pop(key.member_id, None)
                else:
                    self.target[key.member_id] = partitions_of(value.topic_partitions)
            case gr.ConsumerGroupCurrentMemberAssignmentKey():
                assert value is None or isinstance(
                    value, gr.ConsumerGroupCurrentMemberAssignmentValue
                )
                self._replay_current(key.member_id, value)
            case gr.ConsumerGroupRegularExpressionKey():
                assert value is None or isinstance(value, gr.ConsumerGroupRegularExpressionValue)
                self._replay_regex(key.regular_expression, value)
        return True

    def put(self, member: Member) -> None:
        """A member that keeps its partitions is at another epoch: see `moving.py`."""
        self.members[member.member_id] = member

    def _replay_topics(self, topics: Iterable[gr.TopicMetadata]) -> None:
        self.subscribed.clear()
        self.topics = {
            t.topic_name: TopicInfo(t.topic_name, t.topic_id, t.num_partitions) for t in topics
        }

    def _replay_member(
        self, member_id: str, value: gr.ConsumerGroupMemberMetadataValue | None
    ) -> None:
        before = self.members.get(member_id)
        if before is not None:
            self._forget_static(before)
            self._count_regex(before.regex, -1)
        if value is None:
            if before is not None:
                self._own(before, before.without_current())
                del self.members[member_id]
                self.moving.pop(member_id, None)
            return
        member = (before or Member(member_id=member_id)).with_metadata(value)
        self.members[member_id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member_id
        self._count_regex(member.regex, 1)

    def _forget_static(self, member: Member) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self.static.get(instance_id) == member.member_id:
            del self.static[instance_id]

    def _count_regex(self, regex: str, change: int) -> None:
        if regex:
            self.regex_users[regex] = self.regex_users.get(regex, 0) + change
            if not self.regex_users[regex]:
                del self.regex_users[regex]

    def _replay_current(
        self, member_id: str, value: gr.ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        before = self.members.get(member_id)
        if value is None:
            if before is not None:
                after = before.without_current()
                self._own(before, after)
                self.members[member_id] = after
            return
        before = before or Member(member_id=member_id)
        after = before.with_current(value)
        self._own(before, after)
        self.members[member_id] = after

    def _own(self, before: Member, after: Member) -> None:
        """Note who has which partitions."""
        stays = LEFT not in {before.epoch, after.epoch}
        if stays and before.assigned == after.assigned and before.revoking == after.revoking:
            return
        for partitions in (before.assigned, before.revoking):
            for key in _each(partitions):
                if self.owners.get(key) == before.member_id:
                    del self.owners[key]
        if after.epoch == LEFT:
            return
        for partitions in (after.assigned, after.revoking):
            for key in _each(partitions):
                self.owners[key] = after.member_id

    def _replay_regex(
        self, regex: str, value: gr.ConsumerGroupRegularExpressionValue | None
    ) -> None:
        self.subscribed.clear()
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = ResolvedRegex(
                frozenset(value.topics), value.version, value.timestamp
            )


def _each(partitions: Mapping[bytes, frozenset[int]]) -> Iterable[tuple[bytes, int]]:
    return ((topic, index) for topic, indexes in partitions.items() for index in indexes)

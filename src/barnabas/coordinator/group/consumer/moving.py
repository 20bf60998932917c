"""The commonest step of all: a member keeps what it has, and only its epoch is new.

Every member takes it in every rebalance that concerns others, so its record is made from the one
before, and what replaying it would make of the member is made at once.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from barnabas.coordinator.group.consumer.member import Member, MemberState
from barnabas.coordinator.group.consumer.target import subscribed_ids
from barnabas.coordinator.group.records import (
    CONSUMER_CURRENT,
    NO_PARTITIONS,
    Partitions,
    topic_partitions,
)
from barnabas.coordinator.runtime_codec import encode, rest_of, value_at
from barnabas.coordinator.runtime_types import CoordinatorRecord
from barnabas.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.group import ConsumerGroup

_EPOCHS = struct.Struct(">iib")
"""Epoch, previous epoch and state: what a value of the record begins with, behind its version."""
_VERSION_BYTES = 2


def move_on(group: ConsumerGroup, member: Member) -> tuple[Member, MovingRecords] | None:
    """The member at the target's epoch, and the records of it; None: it has more to do."""
    target = group.target.get(member.member_id, NO_PARTITIONS)
    if member.state is not MemberState.STABLE or target != member.assigned:
        return None
    if not target.keys() <= _subscribed(group, member):
        return None
    records = group.moving.get(member.member_id)
    if records is None or records.assigned is not member.assigned:
        records = group.moving[member.member_id] = MovingRecords(group.group_id, member)
    return member.moved_on(group.target_epoch), records


def _subscribed(group: ConsumerGroup, member: Member) -> frozenset[bytes]:
    """Most members read the same topics: each combination is looked up once."""
    chosen = member.names, member.regex
    found = group.subscribed.get(chosen)
    if found is None:
        found = group.subscribed[chosen] = subscribed_ids(group, member)
    return found


class MovingRecords:
    """The records of one member as long as it has the same partitions."""

    __slots__ = ("_after", "_before", "_key", "_listed", "_tail", "_wire_key", "assigned")

    def __init__(self, group_id: str, member: Member) -> None:
        self.assigned: Partitions = member.assigned
        self._listed = topic_partitions(member.assigned)
        self._key = ConsumerGroupCurrentMemberAssignmentKey(
            group_id=group_id, member_id=member.member_id
        )
        first = CoordinatorRecord(
            key=self._key, key_version=CONSUMER_CURRENT, value=self._value(member)
        )
        self._wire_key, value = encode(first)
        assert value is not None, "it is no tombstone"
        self._tail = value[_VERSION_BYTES + _EPOCHS.size :]
        rest = rest_of((self._wire_key, value))
        at = value_at(rest, value) + _VERSION_BYTES
        self._before, self._after = rest[:at], rest[at + _EPOCHS.size :]

    def of(self, member: Member) -> CoordinatorRecord:
        epochs = _EPOCHS.pack(member.epoch, member.previous_epoch, member.state)
        wire = self._wire_key, bytes(_VERSION_BYTES) + epochs + self._tail
        return CoordinatorRecord(
            self._key, CONSUMER_CURRENT, self._value(member), wire=wire, result=member
        )

    def rest(self, member: Member) -> bytes:
        """The same record, for `BatchBuilder.add_rest`."""
        epochs = _EPOCHS.pack(member.epoch, member.previous_epoch, member.state)
        return self._before + epochs + self._after

    def _value(self, member: Member) -> ConsumerGroupCurrentMemberAssignmentValue:
        return ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=MemberState.STABLE.value,
            assigned_partitions=self._listed,
        )

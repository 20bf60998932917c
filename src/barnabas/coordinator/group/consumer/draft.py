"""A decision on a consumer group that takes several steps.

Each record is replayed as soon as it is made, on a copy, so that the next step sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.coordinator.group import records

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.group import ConsumerGroup
    from barnabas.coordinator.group.consumer.member import Member
    from barnabas.coordinator.runtime_types import CoordinatorRecord


class Draft:
    """A group as it will be, and the records that make it so.

    `group` is what it is after the records so far.  The group itself is left alone: it is copied
    when someone looks at what a record has changed, which most decisions never do, because their
    only record is the last thing that they make.  Who holds on to a `group` while writing has it
    as it was before.
    """

    __slots__ = ("_group", "_is_copy", "_replayed", "group_id", "records")

    def __init__(self, group: ConsumerGroup) -> None:
        self.group_id = group.group_id
        self.records: list[CoordinatorRecord] = []
        self._group = group
        self._is_copy = False
        self._replayed = 0

    @property
    def group(self) -> ConsumerGroup:
        if self._replayed < len(self.records):
            if not self._is_copy:
                self._group = self._group.copy()
                self._is_copy = True
            for record in self.records[self._replayed :]:
                self._group.replay(record)
            self._replayed = len(self.records)
        return self._group

    def write(self, record: CoordinatorRecord) -> None:
        self.records.append(record)

    def put_member(self, member: Member) -> None:
        """What the member told about itself."""
        self.write(records.consumer_member(self.group_id, member.member_id, member.to_metadata()))

    def put_current(self, member: Member) -> None:
        """What the member has."""
        self.write(records.consumer_current(self.group_id, member.member_id, member.to_current()))

    def remove_member(self, member_id: str) -> None:
        self.write(records.consumer_current(self.group_id, member_id, None))
        self.write(records.consumer_target(self.group_id, member_id, None))
        self.write(records.consumer_member(self.group_id, member_id, None))

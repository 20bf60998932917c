"""What a member is told when it has been heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.member import Member
    from barnabas.coordinator.group.records import Partitions
    from barnabas.coordinator.group.state import GroupState


class Unchanged(NamedTuple):
    """What there is to tell a member whose assignment stays."""

    epoch: int
    interval_ms: int

    def message(self, member_id: str) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(
            member_id=member_id, member_epoch=self.epoch, heartbeat_interval_ms=self.interval_ms
        )


def heard(state: GroupState, group_id: str, member: Member, now_ms: int) -> int:
    """Begin the member's session anew; the pause that it makes until its next heartbeat."""
    settings = state.settings_of(group_id)
    state.touch(group_id, member.member_id, settings.session_timeout_ms, now_ms)
    return settings.heartbeat_interval_ms


def answer_to(
    state: GroupState, group_id: str, member: Member, now_ms: int
) -> ConsumerGroupHeartbeatResponse:
    """Begin its session anew; the answer to it, to which an assignment may be added."""
    told = Unchanged(member.epoch, heard(state, group_id, member, now_ms))
    return told.message(member.member_id)


def assignment_of(partitions: Partitions) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=sorted(partitions[topic]))
            for topic in sorted(partitions)
        ]
    )

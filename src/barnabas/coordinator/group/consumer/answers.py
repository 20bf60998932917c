"""What a member is told when it has been heard of."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.member import Member
    from barnabas.coordinator.group.records import Partitions
    from barnabas.coordinator.group.state import GroupState

KEPT_ID_MAX = 128
"""Answers to members with longer ids are not kept: clients choose them."""


def heard(state: GroupState, group_id: str, member: Member, now_ms: int) -> int:
    """Begin the member's session anew; the pause that it makes until its next heartbeat."""
    settings = state.settings_of(group_id)
    state.touch(group_id, member.member_id, settings.session_timeout_ms, now_ms)
    return settings.heartbeat_interval_ms


def answer_to(
    state: GroupState, group_id: str, member: Member, now_ms: int
) -> ConsumerGroupHeartbeatResponse:
    """Begin its session anew; the answer to it, to which an assignment may be added."""
    return _plain(member.member_id, member.epoch, heard(state, group_id, member, now_ms))


def unchanged(member_id: str, epoch: int, interval_ms: int) -> ConsumerGroupHeartbeatResponse:
    """The answer to a member whose assignment stays; nobody changes it."""
    if len(member_id) <= KEPT_ID_MAX:
        return _kept(member_id, epoch, interval_ms)
    return _plain(member_id, epoch, interval_ms)


def _plain(member_id: str, epoch: int, interval_ms: int) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=interval_ms
    )


_kept = lru_cache(maxsize=16_384)(_plain)


def assignment_of(partitions: Partitions) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic, partitions=sorted(partitions[topic]))
            for topic in sorted(partitions)
        ]
    )

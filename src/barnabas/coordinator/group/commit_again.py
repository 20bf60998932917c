"""Commits that are like one before: same group, member and partitions, other offsets.

That is what most commits are.  What they have in common is worked out once; who may commit is
decided each time, as for every commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.coordinator.group.offsets import check_commit
from barnabas.coordinator.group.records import OffsetKey
from barnabas.coordinator.group.refusals import refuse
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.group_records import OffsetCommitValue
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.group.state import GroupState


class Pattern:
    """A commit in which nothing is to be refused but the commit as a whole."""

    __slots__ = ("accepted", "places", "request", "version")

    def __init__(self, request: OffsetCommitRequest, version: int) -> None:
        self.request = request
        self.version = version
        self.places = [
            (
                OffsetKey(request.group_id, topic.name, p.partition_index),
                p.committed_metadata or "",
            )
            for topic in request.topics
            for p in topic.partitions
        ]
        self.accepted = _accepted(request)
        """The answer to all that are accepted; nobody changes it."""


def _accepted(request: OffsetCommitRequest) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=p.partition_index)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class CommitAgain(NamedTuple):
    """The event: offset and leader epoch of each partition, in the order of the pattern."""

    pattern: Pattern
    numbers: Sequence[tuple[int, int]]

    def refuse(self, error: ApiError) -> OffsetCommitResponse:
        answer: OffsetCommitResponse = refuse(self.pattern.request, error, self.pattern.version)
        return answer


def commit_again(state: GroupState, event: CommitAgain, now_ms: int) -> Decision:
    """Store positions, if who sends them may still do so."""
    pattern, numbers = event
    check_commit(state, pattern.request, pattern.version, now_ms)
    written = [
        key.commit(
            OffsetCommitValue(
                offset=offset,
                leader_epoch=leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
                expire_timestamp=-1,
            )
        )
        for (key, metadata), (offset, leader_epoch) in zip(pattern.places, numbers, strict=True)
    ]
    return Decision(records=tuple(written), reply=pattern.accepted, standalone=True)

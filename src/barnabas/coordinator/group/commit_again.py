"""Commits that are like one before: same group, member and partitions, other offsets.

That is what most commits are.  What they have in common is worked out once; who may commit is
decided each time, as for every commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.coordinator.group.offset_store import BY_RETENTION
from barnabas.coordinator.group.offsets import check_commit
from barnabas.coordinator.group.records import OffsetForm, OffsetKey
from barnabas.coordinator.group.refusals import refuse
from barnabas.coordinator.runtime_types import Decision
from barnabas.protocol.messages.group_records import OffsetCommitValue
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.group.offset_store import PartitionKey
    from barnabas.coordinator.group.shard import GroupShard
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.runtime_codec import BatchBuilder


class Place(NamedTuple):
    """One partition of a pattern."""

    key: OffsetKey
    metadata: str
    where: PartitionKey
    form: OffsetForm


class Pattern:
    """A commit in which nothing is to be refused but the commit as a whole."""

    __slots__ = ("accepted", "places", "request", "size_bytes", "version")

    def __init__(self, request: OffsetCommitRequest, version: int) -> None:
        self.request = request
        self.version = version
        self.places = [
            _place(request.group_id, topic.name, p)
            for topic in request.topics
            for p in topic.partitions
        ]
        self.size_bytes = sum(place.form.size_bytes for place in self.places)
        self.accepted = _accepted(request)
        """The answer to all that are accepted; nobody changes it."""


def _place(group: str, topic: str, p: OffsetCommitRequestPartition) -> Place:
    key = OffsetKey(group, topic, p.partition_index)
    metadata = p.committed_metadata or ""
    return Place(key, metadata, (topic, p.partition_index), OffsetForm(key, metadata))


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


class CommitAgain:
    """The event: offset and leader epoch of each partition, in the order of the pattern."""

    __slots__ = ("leader_epochs", "offsets", "pattern")

    def __init__(
        self, pattern: Pattern, offsets: Sequence[int], leader_epochs: Sequence[int]
    ) -> None:
        self.pattern = pattern
        self.offsets = offsets
        self.leader_epochs = leader_epochs

    def refuse(self, error: ApiError) -> OffsetCommitResponse:
        answer: OffsetCommitResponse = refuse(self.pattern.request, error, self.pattern.version)
        return answer

    def join(
        self, shard: GroupShard, batch: BatchBuilder, room_bytes: int, now_ms: int
    ) -> OffsetCommitResponse | None:
        """See `Joining`."""
        pattern, state = self.pattern, shard.state
        if pattern.size_bytes > room_bytes:
            return None
        request, store = pattern.request, state.offsets
        check_commit(state, request, pattern.version, now_ms)
        group_id = request.group_id
        for place, offset, leader_epoch in zip(
            pattern.places, self.offsets, self.leader_epochs, strict=True
        ):
            _, metadata, where, form = place
            batch.add_rest(form.filled(offset, leader_epoch, now_ms), now_ms)
            store.put(group_id, where, (offset, leader_epoch, metadata, now_ms))
        return pattern.accepted


def commit_again(state: GroupState, event: CommitAgain, now_ms: int) -> Decision:
    """Store positions, if who sends them may still do so."""
    pattern = event.pattern
    check_commit(state, pattern.request, pattern.version, now_ms)
    written = [
        place.key.commit(
            OffsetCommitValue(
                offset=offset,
                leader_epoch=leader_epoch,
                metadata=place.metadata,
                commit_timestamp=now_ms,
                expire_timestamp=BY_RETENTION,
            )
        )
        for place, offset, leader_epoch in zip(
            pattern.places, event.offsets, event.leader_epochs, strict=True
        )
    ]
    return Decision(records=tuple(written), reply=pattern.accepted, standalone=True)

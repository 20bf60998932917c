"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ErrorCode,
    GroupIdNotFound,
    IllegalGeneration,
    StaleMemberEpoch,
    UnknownMemberId,
)
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup, State
from barnabas.coordinator.group.consumer.group import EPOCHS_IN_COMMITS_SINCE, ConsumerGroup
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision, Producer
from barnabas.protocol.messages.group_records import OffsetCommitValue
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.events import FetchOffsets
    from barnabas.coordinator.group.state import GroupState

NO_OFFSET = -1
_TOO_LARGE = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)


# Commit


def commit(state: GroupState, request: OffsetCommitRequest, version: int, now_ms: int) -> Decision:
    """Store positions, if who sends them may: a member of this generation or epoch, or, for a
    group without members, anyone who claims no membership.
    """
    check_commit(state, request, version, now_ms)
    expires = -1 if request.retention_time_ms < 0 else now_ms + request.retention_time_ms
    limit = state.config.offset_metadata_max_bytes
    written: list[CoordinatorRecord] = []
    response = OffsetCommitResponse()
    for topic in request.topics:
        answers = OffsetCommitResponseTopic(name=topic.name)
        response.topics.append(answers)
        for p in topic.partitions:
            metadata = p.committed_metadata or ""
            if _length(metadata) > limit:
                answers.partitions.append(
                    OffsetCommitResponsePartition(
                        partition_index=p.partition_index, error_code=_TOO_LARGE
                    )
                )
                continue
            answers.partitions.append(
                OffsetCommitResponsePartition(partition_index=p.partition_index)
            )
            value = OffsetCommitValue(
                offset=p.committed_offset,
                leader_epoch=p.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
                expire_timestamp=expires,
            )
            written.append(
                records.offset_commit(request.group_id, topic.name, p.partition_index, value)
            )
    return Decision(records=tuple(written), reply=response, standalone=True)


def check_commit(
    state: GroupState, request: OffsetCommitRequest, version: int, now_ms: int
) -> None:
    """ApiError if who sends it may not commit; else its sender, if a member, was heard of."""
    group = state.groups.get(request.group_id)
    epoch = request.generation_id_or_member_epoch
    if group is None:
        if epoch >= 0:
            _check_simple(state, request.group_id)
            if version >= EPOCHS_IN_COMMITS_SINCE:
                raise GroupIdNotFound
            raise IllegalGeneration
    elif isinstance(group, ConsumerGroup):
        group.validate_commit(
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            epoch=epoch,
            transactional=False,
            version=version,
        )
    else:
        member = group.validate_commit(
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=epoch,
            transactional=False,
        )
        if member is not None and group.state in (State.STABLE, State.PREPARING):
            state.touch(group.group_id, member.member_id, member.session_timeout_ms, now_ms)


def commit_in_transaction(
    state: GroupState, request: TxnOffsetCommitRequest, now_ms: int
) -> Decision:
    """Store positions that count when the producer's transaction commits."""
    _check_txn_commit(state, request)
    limit = state.config.offset_metadata_max_bytes
    written: list[CoordinatorRecord] = []
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answers = TxnOffsetCommitResponseTopic(name=topic.name)
        response.topics.append(answers)
        for p in topic.partitions:
            metadata = p.committed_metadata or ""
            code = _TOO_LARGE if _length(metadata) > limit else 0
            answers.partitions.append(
                TxnOffsetCommitResponsePartition(partition_index=p.partition_index, error_code=code)
            )
            if code:
                continue
            value = OffsetCommitValue(
                offset=p.committed_offset,
                leader_epoch=p.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=now_ms,
            )
            written.append(
                records.offset_commit(request.group_id, topic.name, p.partition_index, value)
            )
    producer = Producer(request.producer_id, request.producer_epoch)
    return Decision(records=tuple(written), reply=response, producer=producer, standalone=True)


def _check_txn_commit(state: GroupState, request: TxnOffsetCommitRequest) -> None:
    group = state.groups.get(request.group_id)
    if group is None:
        if request.generation_id >= 0:
            _check_simple(state, request.group_id)
            raise IllegalGeneration
    elif isinstance(group, ConsumerGroup):
        try:
            group.validate_commit(
                member_id=request.member_id,
                instance_id=request.group_instance_id,
                epoch=request.generation_id,
                transactional=True,
                version=EPOCHS_IN_COMMITS_SINCE,
            )
        except StaleMemberEpoch:
            raise IllegalGeneration from None  # this API has no other word for it
    else:
        group.validate_commit(
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            transactional=True,
        )


def _check_simple(state: GroupState, group_id: str) -> None:
    """Raise if the group has offsets: it exists then, but this member of it does not."""
    if state.offsets.has_group(group_id):
        raise UnknownMemberId


def _length(text: str) -> int:
    """Characters as the limit counts them: of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


# Fetch


def fetch(state: GroupState, event: FetchOffsets) -> OffsetFetchResponseGroup:
    """Read positions.  A group that does not exist has none; that is no error."""
    wanted = event.group
    group_id = wanted.group_id
    group = state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        group.validate_fetch(wanted.member_id, wanted.member_epoch)
    topics = wanted.topics
    if topics is None:
        topics = _all_topics(state, group_id)
    return OffsetFetchResponseGroup(
        group_id=group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    _fetch_one(state, group_id, topic.name, index, event.require_stable)
                    for index in topic.partition_indexes
                ],
            )
            for topic in topics
        ],
    )


def _all_topics(state: GroupState, group_id: str) -> list[OffsetFetchRequestTopics]:
    """Everything that is committed; what is only pending is not there yet."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(state.offsets.of_group(group_id)):
        topics.setdefault(topic, []).append(index)
    return [
        OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
        for name, indexes in topics.items()
    ]


def _fetch_one(
    state: GroupState, group_id: str, topic: str, index: int, require_stable: bool
) -> OffsetFetchResponsePartitions:
    if require_stable and state.offsets.is_pending(group_id, topic, index):
        return OffsetFetchResponsePartitions(
            partition_index=index,
            committed_offset=NO_OFFSET,
            error_code=int(ErrorCode.UNSTABLE_OFFSET_COMMIT),
        )
    found = state.offsets.get(group_id, topic, index)
    if found is None:
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=NO_OFFSET)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=found.offset,
        committed_leader_epoch=found.leader_epoch,
        metadata=found.metadata,
    )


# Delete


def delete(state: GroupState, request: OffsetDeleteRequest) -> Decision:
    """Forget positions in topics that the group does not read."""
    group = state.groups.get(request.group_id)
    if group is None and not state.offsets.has_group(request.group_id):
        raise GroupIdNotFound
    if isinstance(group, ClassicGroup):
        group.check_offset_delete()
    response = OffsetDeleteResponse()
    written: list[CoordinatorRecord] = []
    for topic in request.topics:
        answers = OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answers)
        code = 0
        if group is not None and group.is_subscribed(topic.name):
            code = int(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
        for p in topic.partitions:
            index = p.partition_index
            answers.partitions.append(
                OffsetDeleteResponsePartition(partition_index=index, error_code=code)
            )
            known = state.offsets.get(request.group_id, topic.name, index) is not None
            pending = state.offsets.is_pending(request.group_id, topic.name, index)
            if not code and (known or pending):
                written.append(records.offset_commit(request.group_id, topic.name, index, None))
    return Decision(records=tuple(written), reply=response, standalone=True)


def tombstones(state: GroupState, group_id: str) -> list[CoordinatorRecord]:
    """The records that make all of a group's offsets be forgotten."""
    keys = {*state.offsets.of_group(group_id), *state.offsets.pending_keys(group_id)}
    return [records.offset_commit(group_id, topic, index, None) for topic, index in sorted(keys)]

"""How each API says that a whole request failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from barnabas.protocol.messages.consumer_group_describe import (
    DescribedGroup as DescribedConsumerGroup,
)
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchResponseGroup
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.base.errors import ApiError
    from barnabas.protocol.message import Message

_TOO_LARGE = frozenset(
    {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE}
)


_MESSAGE_MAX = 1_000
"""Characters of an explanation that a client gets to see."""


def refuse(request: Message, error: ApiError, version: int) -> Any:
    """The response to `request` that says nothing but `error`."""
    return _REFUSALS[type(request)](request, error, version)


def refuse_fetch(group: str, error: ApiError) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group_id=group, error_code=int(error.code))


def _code(error: ApiError) -> int:
    """A batch that does not fit is our limit, not something a member could do better."""
    return int(ErrorCode.UNKNOWN_SERVER_ERROR if error.code in _TOO_LARGE else error.code)


def _commit_code(error: ApiError) -> int:
    return int(ErrorCode.INVALID_COMMIT_OFFSET_SIZE if error.code in _TOO_LARGE else error.code)


def _join(request: JoinGroupRequest, error: ApiError, _: int) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=_code(error), member_id=request.member_id)


def _sync(_: SyncGroupRequest, error: ApiError, __: int) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=_code(error))


def _heartbeat(_: HeartbeatRequest, error: ApiError, __: int) -> HeartbeatResponse:
    """A group that is being loaded takes every heartbeat: its sessions start when it is there."""
    if error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatResponse()
    return HeartbeatResponse(error_code=_code(error))


def _leave(request: LeaveGroupRequest, error: ApiError, _: int) -> LeaveGroupResponse:
    if error.code != ErrorCode.UNKNOWN_MEMBER_ID:
        return LeaveGroupResponse(error_code=_code(error))
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=_code(error),
            )
            for member in request.members
        ]
    )


def _commit(request: OffsetCommitRequest, error: ApiError, _: int) -> OffsetCommitResponse:
    code = _commit_code(error)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=p.partition_index, error_code=code
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_commit(
    request: TxnOffsetCommitRequest, error: ApiError, _: int
) -> TxnOffsetCommitResponse:
    code = _commit_code(error)
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=p.partition_index, error_code=code
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _delete_offsets(_: OffsetDeleteRequest, error: ApiError, __: int) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=_code(error))


def _describe(request: DescribeGroupsRequest, error: ApiError, _: int) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribedGroup(group_id=group, error_code=_code(error)) for group in request.groups]
    )


def _describe_consumer(
    request: ConsumerGroupDescribeRequest, error: ApiError, _: int
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[
            DescribedConsumerGroup(group_id=group, error_code=_code(error))
            for group in request.group_ids
        ]
    )


def _list(_: ListGroupsRequest, error: ApiError, __: int) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=_code(error))


def _delete(request: DeleteGroupsRequest, error: ApiError, _: int) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group, error_code=_code(error))
            for group in request.groups_names
        ]
    )


def _consumer_heartbeat(
    _: ConsumerGroupHeartbeatRequest, error: ApiError, __: int
) -> ConsumerGroupHeartbeatResponse:
    told = error.message[:_MESSAGE_MAX]  # it may hold names as long as a string can be
    return ConsumerGroupHeartbeatResponse(error_code=_code(error), error_message=told)


_REFUSALS: dict[type[Message], Callable[[Any, ApiError, int], Message]] = {
    JoinGroupRequest: _join,
    SyncGroupRequest: _sync,
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave,
    OffsetCommitRequest: _commit,
    TxnOffsetCommitRequest: _txn_commit,
    OffsetDeleteRequest: _delete_offsets,
    DescribeGroupsRequest: _describe,
    ConsumerGroupDescribeRequest: _describe_consumer,
    ListGroupsRequest: _list,
    DeleteGroupsRequest: _delete,
    ConsumerGroupHeartbeatRequest: _consumer_heartbeat,
}

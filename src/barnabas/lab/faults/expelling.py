"""Ends the sessions of group members, and whole groups, with the calls that operators have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.base.error_codes import ErrorCode
from barnabas.client.brokers import check_code
from barnabas.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

if TYPE_CHECKING:
    from barnabas.client.wire import Connection
    from barnabas.lab.cluster.view import Eyes

Result = TypeVar("Result")

GROUP = 0
LEAVING = -1
"""The member epoch of one that goes."""
REASON = "its session has ended"


def expel(eyes: Eyes, group: str, member: str | None) -> int:
    """Have the coordinator forget members; how many there were.  `ClientError` if it refuses.

    `member`: a member id, a client id or an instance id; None: all of them.
    """
    return _ask_coordinator(eyes, group, lambda connection: _expel(connection, group, member))


def delete_group(eyes: Eyes, group: str) -> None:
    """The group and its offsets are gone, whoever is still in it; one that never was is no failure.

    `ClientError` if the coordinator refuses.
    """
    _ask_coordinator(eyes, group, lambda connection: _delete(connection, group))


def _ask_coordinator(eyes: Eyes, group: str, question: Callable[[Connection], Result]) -> Result:
    found = eyes.ask_any(
        lambda connection: connection.call(
            FindCoordinatorRequest(key_type=GROUP, coordinator_keys=[group]),
            FindCoordinatorResponse,
        )
    ).coordinators[0]
    check_code(found.error_code, found.error_message)
    return eyes.ask(found.node_id, question)


def _delete(connection: Connection, group: str) -> None:
    request = DeleteGroupsRequest(groups_names=[group])
    code = connection.call(request, DeleteGroupsResponse).results[0].error_code
    if code == ErrorCode.NON_EMPTY_GROUP:  # members that were killed are in it for a while
        _expel(connection, group, None)
        code = connection.call(request, DeleteGroupsResponse).results[0].error_code
    if code != ErrorCode.GROUP_ID_NOT_FOUND:
        check_code(code)


def _expel(connection: Connection, group: str, member: str | None) -> int:
    newer = connection.call(
        ConsumerGroupDescribeRequest(group_ids=[group]), ConsumerGroupDescribeResponse
    ).groups[0]
    if newer.error_code == ErrorCode.NONE:
        going = _meant(newer.members, member, "instance_id")
        for each in going:
            answer = connection.call(
                ConsumerGroupHeartbeatRequest(
                    group_id=group,
                    member_id=each.member_id,
                    instance_id=each.instance_id,
                    member_epoch=LEAVING,
                ),
                ConsumerGroupHeartbeatResponse,
            )
            check_code(answer.error_code, answer.error_message)
        return len(going)
    classic = connection.call(DescribeGroupsRequest(groups=[group]), DescribeGroupsResponse).groups[
        0
    ]
    check_code(classic.error_code)
    going = _meant(classic.members, member, "group_instance_id")
    if going:
        identities = [
            MemberIdentity(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                reason=REASON,
            )
            for each in going
        ]
        left = connection.call(
            LeaveGroupRequest(group_id=group, members=identities), LeaveGroupResponse
        )
        check_code(left.error_code)
        for one in left.members:
            check_code(one.error_code)
    return len(going)


def _meant(members: Iterable[Any], wanted: str | None, instance: str) -> list[Any]:
    return [
        each
        for each in members
        if wanted is None or wanted in (each.member_id, each.client_id, getattr(each, instance))
    ]

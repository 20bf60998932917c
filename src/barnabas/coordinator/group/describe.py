"""ListGroups, DescribeGroups, ConsumerGroupDescribe and DeleteGroups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.group import records
from barnabas.coordinator.group.classic.group import ClassicGroup, State
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.embedded import PROTOCOL_TYPE
from barnabas.coordinator.group.offsets import tombstones
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision
from barnabas.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    Member,
    TopicPartitions,
)
from barnabas.protocol.messages.consumer_group_describe import (
    DescribedGroup as DescribedConsumerGroup,
)
from barnabas.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.coordinator.group.consumer.member import Member as ConsumerMember
    from barnabas.coordinator.group.records import Partitions
    from barnabas.coordinator.group.state import GroupState

NOT_FOUND_SINCE = 6
"""Since this version DescribeGroups says so when there is no such group (KIP-1043)."""
DEAD = "Dead"
_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


# List


def list_groups(state: GroupState, request: ListGroupsRequest) -> ListGroupsResponse:
    states = {name.casefold() for name in request.states_filter}
    types = {name.casefold() for name in request.types_filter}
    return ListGroupsResponse(
        groups=[
            group
            for group in _listed(state)
            if (not states or group.group_state.casefold() in states)
            and (not types or group.group_type.casefold() in types)
        ]
    )


def _listed(state: GroupState) -> Iterator[ListedGroup]:
    for group_id, group in state.groups.items():
        if isinstance(group, ConsumerGroup):
            yield ListedGroup(
                group_id=group_id,
                protocol_type=PROTOCOL_TYPE,
                group_state=group.state,
                group_type=group.kind,
            )
        else:
            yield ListedGroup(
                group_id=group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=group.kind,
            )
    for group_id in state.offsets.groups():
        if group_id not in state.groups:  # it has offsets, and never had members
            yield ListedGroup(
                group_id=group_id,
                group_state=State.EMPTY.value,
                group_type=ClassicGroup.kind,
            )


# Describe


def describe_groups(
    state: GroupState, request: DescribeGroupsRequest, version: int
) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[_described(state, group_id, version) for group_id in request.groups]
    )


def _described(state: GroupState, group_id: str, version: int) -> DescribedGroup:
    group = state.groups.get(group_id)
    if group is None and state.offsets.has_group(group_id):
        group = ClassicGroup(group_id)
    if not isinstance(group, ClassicGroup):
        described = DescribedGroup(group_id=group_id, group_state=DEAD)
        if version >= NOT_FOUND_SINCE:
            described.error_code = int(ErrorCode.GROUP_ID_NOT_FOUND)
            described.error_message = (
                f"Group {group_id} not found."
                if group is None
                else f"Group {group_id} is not a classic group."
            )
        return described
    is_stable = group.state is State.STABLE
    protocol = (group.protocol or "") if is_stable else ""
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol) if is_stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def describe_consumer_groups(
    state: GroupState, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[_described_consumer(state, group_id) for group_id in request.group_ids]
    )


def _described_consumer(state: GroupState, group_id: str) -> DescribedConsumerGroup:
    group = state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        exists = group is not None or state.offsets.has_group(group_id)
        return DescribedConsumerGroup(
            group_id=group_id,
            error_code=int(ErrorCode.GROUP_ID_NOT_FOUND),
            error_message=(
                f"Group {group_id} is not a consumer group."
                if exists
                else f"Group {group_id} not found."
            ),
        )
    return DescribedConsumerGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor(state.config.consumer_assignors[0]),
        members=[_described_member(state, group, m) for m in group.members.values()],
    )


def _described_member(state: GroupState, group: ConsumerGroup, member: ConsumerMember) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(state, member.owned),
        target_assignment=_assignment(state, group.target_of(member.member_id)),
        member_type=_CLASSIC_MEMBER if member.uses_classic else _CONSUMER_MEMBER,
    )


def _assignment(state: GroupState, partitions: Partitions) -> Assignment:
    """Partitions with the names of their topics; those of topics that are gone are left out."""
    items = []
    for topic_id, indexes in partitions.items():
        topic = state.topics.by_id(topic_id)
        if topic is not None:
            items.append(
                TopicPartitions(
                    topic_id=topic_id, topic_name=topic.name, partitions=sorted(indexes)
                )
            )
    return Assignment(topic_partitions=sorted(items, key=lambda item: item.topic_name))


# Delete


def delete_groups(state: GroupState, request: DeleteGroupsRequest) -> Decision:
    response = DeleteGroupsResponse()
    written: list[CoordinatorRecord] = []
    for group_id in request.groups_names:
        code, gone = _deleted(state, group_id)
        written += gone
        response.results.append(DeletableGroupResult(group_id=group_id, error_code=int(code)))
    return Decision(records=tuple(written), reply=response, atomic=False)


def _deleted(state: GroupState, group_id: str) -> tuple[ErrorCode, list[CoordinatorRecord]]:
    group = state.groups.get(group_id)
    if group is None:
        if state.offsets.has_group(group_id):
            return ErrorCode.NONE, tombstones(state, group_id)
        return ErrorCode.GROUP_ID_NOT_FOUND, []
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP, []
    gone = tombstones(state, group_id)
    if isinstance(group, ConsumerGroup):
        return ErrorCode.NONE, gone + group.tombstones()
    if group.stored is None:
        del state.groups[group_id]  # the log has nothing of it
        return ErrorCode.NONE, gone
    return ErrorCode.NONE, [*gone, records.group_metadata(group_id, None)]

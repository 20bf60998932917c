"""What librdkafka cannot tell of groups, or ask of them: states and epochs of the newer protocol,
all offsets with their metadata, and to forget offsets.

Through our own codec, over connections of our own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.client.errors import ClientError, RefusedError
from barnabas.client.group_admin import UNKNOWN, Group, GroupListing, Member
from barnabas.client.partition_admin import Place

if TYPE_CHECKING:
    from barnabas.client.brokers import Brokers
    from barnabas.client.group_admin import GroupAdmin
    from barnabas.client.login import Login
    from barnabas.client.wire import Connection
    from barnabas.protocol.messages import consumer_group_describe as told

MANY_GROUPS = 8
"""The version of OffsetFetch that takes a list of groups."""
UPGRADED = {0: False, 1: True}
"""By the type of a member: of the classic protocol, or of the newer one."""


def describe_exactly(admin: GroupAdmin, group_ids: Iterable[str]) -> list[Group]:
    """Groups by name, with details where they can be had; one that does not exist is `Dead`.

    `ClientError` if one of them cannot be asked about.
    """
    groups = []
    for _, group in sorted(admin.describe(group_ids).items()):
        if isinstance(group, ClientError):
            raise group
        groups.append(group)
    return add_group_details(groups, admin.properties, timeout_s=admin.patience.seconds)


def add_group_details(
    groups: Sequence[Group], properties: Mapping[str, str], *, timeout_s: float
) -> list[Group]:
    """The same groups; those of the newer protocol with their exact state and their epochs.

    As far as the brokers can be asked: with a login that is librdkafka's alone nothing is added.
    """
    from barnabas.client.login import can_log_in, login_of

    if not can_log_in(properties):
        return list(groups)
    login = login_of(properties)
    detailed: dict[str, Group] = {}
    newer = [group for group in groups if group.type == "Consumer"]
    for broker in sorted({group.coordinator for group in newer}):
        detailed |= _from_coordinator(
            broker,
            {each.group_id: each for each in newer if each.coordinator == broker},
            timeout_s,
            login,
        )
    return [detailed.get(group.group_id, group) for group in groups]


def _from_coordinator(
    broker: tuple[int, str, int], groups: Mapping[str, Group], timeout_s: float, login: Login
) -> dict[str, Group]:
    from barnabas.client.wire import Connection
    from barnabas.protocol.apis import ApiKey
    from barnabas.protocol.messages.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponse,
    )

    _, host, port = broker
    with Connection(host, port, timeout_s=timeout_s, login=login) as connection:
        if connection.version_of(ApiKey.CONSUMER_GROUP_DESCRIBE) is None:
            return {}
        answer = connection.call(
            ConsumerGroupDescribeRequest(group_ids=sorted(groups)), ConsumerGroupDescribeResponse
        )
    return {
        each.group_id: _detailed(groups[each.group_id], each)
        for each in answer.groups
        if each.error_code == 0
    }


def _detailed(group: Group, described: told.DescribedGroup) -> Group:
    return replace(
        group,
        state=described.group_state,
        assignor=described.assignor_name,
        epoch=described.group_epoch,
        target_epoch=described.assignment_epoch,
        members=[
            Member(
                member_id=each.member_id,
                client_id=each.client_id,
                host=each.client_host,
                instance_id=each.instance_id,
                assignment=_places(each.assignment.topic_partitions),
                target=_places(each.target_assignment.topic_partitions),
                epoch=each.member_epoch,
                upgraded=UPGRADED.get(each.member_type),
            )
            for each in described.members
        ],
    )


def _places(topics: Iterable[told.TopicPartitions]) -> list[Place]:
    return sorted((topic.topic_name, number) for topic in topics for number in topic.partitions)


def with_exact_states(
    listings: Sequence[GroupListing], properties: Mapping[str, str], *, timeout_s: float
) -> list[GroupListing]:
    """The same listings; where the state is one that librdkafka does not know, asked for again."""
    from barnabas.client.brokers import Brokers
    from barnabas.client.login import can_log_in

    if all(each.state != UNKNOWN for each in listings) or not can_log_in(properties):
        return list(listings)
    with Brokers.connect(properties, timeout_s=timeout_s) as brokers:
        states = states_by_group(brokers)
    return [
        replace(each, state=states.get(each.group_id) or each.state)
        if each.state == UNKNOWN
        else each
        for each in listings
    ]


def states_by_group(brokers: Brokers) -> dict[str, str]:
    """Every group of the cluster, and its state in the brokers' own words."""
    from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

    return {
        group.group_id: group.group_state
        for broker_id in brokers.ids()
        for group in brokers.to(broker_id).call(ListGroupsRequest(), ListGroupsResponse).groups
    }


def stable_offsets(brokers: Brokers, group_id: str) -> dict[Place, tuple[int, str]]:
    """All that a group has committed, with its metadata.

    What a transaction is about to commit is waited for: `RefusedError` if that takes too long.
    """
    from barnabas.client.brokers import GROUP

    return brokers.ask_coordinator(
        group_id, GROUP, lambda _, connection: _fetch_offsets(connection, group_id)
    )


def _fetch_offsets(connection: Connection, group_id: str) -> dict[Place, tuple[int, str]]:
    from barnabas.client.brokers import check_code
    from barnabas.protocol.apis import ApiKey
    from barnabas.protocol.messages import offset_fetch as fetch

    request = fetch.OffsetFetchRequest(require_stable=True)
    if (connection.version_of(ApiKey.OFFSET_FETCH) or 0) >= MANY_GROUPS:
        request.groups = [fetch.OffsetFetchRequestGroup(group_id=group_id, topics=None)]
    else:
        request.group_id, request.topics = group_id, None
    answer = connection.call(request, fetch.OffsetFetchResponse)
    check_code(answer.error_code)
    topics: list[fetch.OffsetFetchResponseTopic | fetch.OffsetFetchResponseTopics]
    topics = list(answer.topics)
    for group in answer.groups:
        check_code(group.error_code)
        topics += group.topics
    found = {}
    for topic in topics:
        for each in topic.partitions:
            check_code(each.error_code)
            found[topic.name, each.partition_index] = (each.committed_offset, each.metadata or "")
    return found


def delete_offsets(
    properties: Mapping[str, str], group_id: str, places: Collection[Place], *, timeout_s: float
) -> dict[Place, RefusedError | None]:
    """Has a group forget its offsets; for each partition, what was in the way.

    `RefusedError` if the group as a whole is refused.
    """
    from barnabas.client.brokers import GROUP, Brokers

    with Brokers.connect(properties, timeout_s=timeout_s) as brokers:
        return brokers.ask_coordinator(
            group_id, GROUP, lambda _, connection: _delete(connection, group_id, places)
        )


def _delete(
    connection: Connection, group_id: str, places: Collection[Place]
) -> dict[Place, RefusedError | None]:
    from barnabas.client.brokers import by_topic, check_code, refusal
    from barnabas.protocol.messages.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
        OffsetDeleteResponse,
    )

    answer = connection.call(
        OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=n) for n in numbers],
                )
                for topic, numbers in by_topic(places).items()
            ],
        ),
        OffsetDeleteResponse,
    )
    check_code(answer.error_code)
    return {
        (topic.name, each.partition_index): refusal(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }

"""Requests that are for the groups of several shards: taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.group.events import FetchOffsets
from barnabas.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from barnabas.protocol.messages.consumer_group_describe import (
    DescribedGroup as DescribedConsumerGroup,
)
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.messages.list_groups import ListGroupsResponse
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.events import Call
    from barnabas.coordinator.group.service import GroupCoordinator
    from barnabas.coordinator.runtime_slot import Done

MANY_GROUPS_SINCE = 8
"""The version of OffsetFetch that asks for several groups (KIP-709)."""
GROUP_ERROR_SINCE = 2
"""The version of OffsetFetch that has an error for the whole group."""


class _Gather:
    """Waits for all of several replies, in whatever order they come."""

    def __init__(self, count: int, done: Callable[[list[Any]], None]) -> None:
        self._replies: list[Any] = [None] * count
        self._missing = count
        self._done = done
        if not count:
            done([])

    def slot(self, place: int) -> Done:
        return partial(self._put, place)

    def _put(self, place: int, reply: Any) -> None:
        self._replies[place] = reply
        self._missing -= 1
        if not self._missing:
            self._done(self._replies)


def _by_shard(coordinator: GroupCoordinator, groups: Sequence[str]) -> list[tuple[int, list[str]]]:
    shards: dict[int, list[str]] = {}
    for group_id in dict.fromkeys(groups):
        shards.setdefault(coordinator.partition_for(group_id), []).append(group_id)
    return list(shards.items())


def _each_shard(
    coordinator: GroupCoordinator,
    call: Call,
    groups: Sequence[str],
    *,
    part: Callable[[list[str]], Any],
    done: Callable[[list[Any]], None],
    now_ms: int,
) -> None:
    shards = _by_shard(coordinator, groups)
    gather = _Gather(len(shards), done)
    for place, (partition, names) in enumerate(shards):
        event = call._replace(request=part(names))
        coordinator.runtime.schedule(partition, event, gather.slot(place), now_ms=now_ms)


def describe(coordinator: GroupCoordinator, call: Call, done: Done, now_ms: int) -> None:
    request: DescribeGroupsRequest = call.request

    def finish(replies: list[DescribeGroupsResponse]) -> None:
        found = {group.group_id: group for reply in replies for group in reply.groups}
        done(DescribeGroupsResponse(groups=[found[name] for name in request.groups]))

    _each_shard(
        coordinator,
        call,
        request.groups,
        part=lambda names: DescribeGroupsRequest(groups=names),
        done=finish,
        now_ms=now_ms,
    )


def describe_consumer(coordinator: GroupCoordinator, call: Call, done: Done, now_ms: int) -> None:
    """A group without a name is refused here; the others are described as ever."""
    request: ConsumerGroupDescribeRequest = call.request
    nameless = DescribedConsumerGroup(error_code=int(ErrorCode.INVALID_GROUP_ID))

    def finish(replies: list[ConsumerGroupDescribeResponse]) -> None:
        found = {group.group_id: group for reply in replies for group in reply.groups}
        done(
            ConsumerGroupDescribeResponse(
                groups=[found.get(name, nameless) for name in request.group_ids]
            )
        )

    _each_shard(
        coordinator,
        call,
        [name for name in request.group_ids if name],
        part=lambda names: ConsumerGroupDescribeRequest(group_ids=names),
        done=finish,
        now_ms=now_ms,
    )


def delete(coordinator: GroupCoordinator, call: Call, done: Done, now_ms: int) -> None:
    request: DeleteGroupsRequest = call.request

    def finish(replies: list[DeleteGroupsResponse]) -> None:
        found = {result.group_id: result for reply in replies for result in reply.results}
        names = dict.fromkeys(request.groups_names)
        done(DeleteGroupsResponse(results=[found[name] for name in names]))

    _each_shard(
        coordinator,
        call,
        request.groups_names,
        part=lambda names: DeleteGroupsRequest(groups_names=names),
        done=finish,
        now_ms=now_ms,
    )


def list_groups(coordinator: GroupCoordinator, call: Call, done: Done, now_ms: int) -> None:
    """The groups of every shard here; a shard that is being loaded makes the list incomplete."""
    partitions = coordinator.runtime.partitions()

    def finish(replies: list[ListGroupsResponse]) -> None:
        response = ListGroupsResponse()
        for reply in replies:
            if reply.error_code == ErrorCode.NOT_COORDINATOR:
                continue
            response.error_code = response.error_code or reply.error_code
            response.groups += reply.groups
        if response.error_code:
            response.groups = []
        done(response)

    gather = _Gather(len(partitions), finish)
    for place, partition in enumerate(partitions):
        coordinator.runtime.schedule(partition, call, gather.slot(place), now_ms=now_ms)


# OffsetFetch


def fetch_offsets(
    coordinator: GroupCoordinator,
    request: OffsetFetchRequest,
    version: int,
    done: Done,
    now_ms: int,
) -> None:
    groups = request.groups
    if version < MANY_GROUPS_SINCE:
        groups = [_single_group(request)]

    def finish(replies: list[OffsetFetchResponseGroup]) -> None:
        if version >= MANY_GROUPS_SINCE:
            done(OffsetFetchResponse(groups=replies))
        else:
            done(_single_response(groups[0], replies[0], version))

    gather = _Gather(len(groups), finish)
    for place, group in enumerate(groups):
        event = FetchOffsets(group=group, require_stable=request.require_stable)
        coordinator.schedule(group.group_id, event, gather.slot(place), now_ms)


def _single_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _single_response(
    asked: OffsetFetchRequestGroup, reply: OffsetFetchResponseGroup, version: int
) -> OffsetFetchResponse:
    """The oldest versions tell a group's error with each partition."""
    if reply.error_code and version < GROUP_ERROR_SINCE:
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetFetchResponsePartition(
                            partition_index=index,
                            committed_offset=-1,
                            error_code=reply.error_code,
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in asked.topics or []
            ]
        )
    return OffsetFetchResponse(
        error_code=reply.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=p.partition_index,
                        committed_offset=p.committed_offset,
                        committed_leader_epoch=p.committed_leader_epoch,
                        metadata=p.metadata,
                        error_code=p.error_code,
                    )
                    for p in topic.partitions
                ],
            )
            for topic in reply.topics
        ],
    )

"""The group coordinator as the broker sees it: requests in, responses out.

Requests are checked for what needs no group, sent to the shard of their group, and put together
again if they were for groups of several shards.  Pure like the rest: the runtime has the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import (
    ErrorCode,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    UnsupportedVersion,
)
from barnabas.coordinator.group import fanout
from barnabas.coordinator.group.events import Call, TopicsChanged
from barnabas.coordinator.group.records import TYPES
from barnabas.coordinator.group.shard import GroupShard
from barnabas.coordinator.group.state import GroupState
from barnabas.coordinator.runtime import Runtime
from barnabas.coordinator.runtime_routing import partition_for
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from barnabas.coordinator.group.config import GroupConfig, GroupSettings
    from barnabas.coordinator.group.topics import Topics
    from barnabas.coordinator.runtime_slot import Done
    from barnabas.coordinator.runtime_types import Appender
    from barnabas.protocol.message import Message

PROTOCOL_NEEDED_SINCE = 5
"""The version of SyncGroup that must name the protocol (KIP-559)."""
MANY_LEAVE_SINCE = 3
"""The version of LeaveGroup in which several members leave at once (KIP-345)."""
NO_PROTOCOL_SINCE = 7
"""The version of JoinGroup in which a failed join names no protocol (KIP-559)."""


def make_runtime(
    *,
    config: GroupConfig,
    topics: Topics,
    appender: Appender,
    reload: Callable[[int, int], None],
    new_id: Callable[[], str],
    settings_of: Callable[[str], GroupSettings] | None = None,
    **options: Any,
) -> Runtime:
    """The runtime of `__consumer_offsets`; `options` are those of `Runtime`."""

    def make_shard(partition: int, epoch: int) -> GroupShard:
        state = GroupState(config=config, topics=topics, new_id=new_id, settings_of=settings_of)
        return GroupShard(state)

    return Runtime(make_shard=make_shard, types=TYPES, appender=appender, reload=reload, **options)


class GroupCoordinator:
    """All groups that this broker coordinates."""

    def __init__(
        self, *, runtime: Runtime, config: GroupConfig, partitions: Callable[[], int]
    ) -> None:
        """`partitions` says how many `__consumer_offsets` has."""
        self.runtime = runtime
        self.config = config
        self._partitions = partitions
        self._handlers: Mapping[type[Message], Callable[[Call, Done, int], None]] = {
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._one,
            LeaveGroupRequest: self._leave,
            ConsumerGroupHeartbeatRequest: self._consumer_heartbeat,
            OffsetCommitRequest: self._any_name,
            TxnOffsetCommitRequest: self._one,
            OffsetDeleteRequest: self._one,
            OffsetFetchRequest: self._fetch,
            DescribeGroupsRequest: self._describe,
            ConsumerGroupDescribeRequest: self._describe_consumer,
            DeleteGroupsRequest: self._delete,
            ListGroupsRequest: self._list,
        }

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self._partitions())

    def handle(self, call: Call, done: Done, *, now_ms: int) -> None:
        """Carry out a request; `done` gets its response, maybe at once, maybe much later."""
        self._handlers[type(call.request)](call, done, now_ms)

    def topics_changed(
        self, *, changed: frozenset[str], deleted: frozenset[str], now_ms: int
    ) -> None:
        """Topics were created, grew or went; the topics' port knows of it already."""
        self.runtime.broadcast(TopicsChanged(changed=changed, deleted=deleted), now_ms=now_ms)

    # Requests for one group

    def schedule(self, group_id: str, event: Any, done: Done, now_ms: int) -> None:
        self.runtime.schedule(self.partition_for(group_id), event, done, now_ms=now_ms)

    def _one(self, call: Call, done: Done, now_ms: int) -> None:
        """Most requests: the group is named, and must have a name."""
        if not call.request.group_id:
            done(call.refuse(InvalidGroupId()))
        else:
            self.schedule(call.request.group_id, call, done, now_ms)

    def _any_name(self, call: Call, done: Done, now_ms: int) -> None:
        """Offsets may belong to the group without a name: old clients have used it."""
        self.schedule(call.request.group_id, call, done, now_ms)

    def _join(self, call: Call, done: Done, now_ms: int) -> None:
        request: JoinGroupRequest = call.request

        def finish(response: JoinGroupResponse) -> None:
            if response.error_code:
                response.protocol_name = None if call.version >= NO_PROTOCOL_SINCE else ""
            done(response)

        low, high = self.config.min_session_timeout_ms, self.config.max_session_timeout_ms
        if not low <= request.session_timeout_ms <= high and request.group_id:
            finish(call.refuse(InvalidSessionTimeout()))
            return
        if request.rebalance_timeout_ms < 0:
            request.rebalance_timeout_ms = request.session_timeout_ms
        self._one(call, finish, now_ms)

    def _sync(self, call: Call, done: Done, now_ms: int) -> None:
        request: SyncGroupRequest = call.request
        named = request.protocol_type is not None and request.protocol_name is not None
        if call.version >= PROTOCOL_NEEDED_SINCE and not named:
            done(call.refuse(InconsistentGroupProtocol()))
        else:
            self._one(call, done, now_ms)

    def _leave(self, call: Call, done: Done, now_ms: int) -> None:
        """Up to v2 one member leaves, and its error is the response's."""
        if call.version >= MANY_LEAVE_SINCE:
            self._one(call, done, now_ms)
            return
        single: LeaveGroupRequest = call.request

        def unpack(response: LeaveGroupResponse) -> None:
            code = response.error_code
            if code == ErrorCode.NONE and response.members:
                code = response.members[0].error_code
            done(LeaveGroupResponse(error_code=code))

        request = LeaveGroupRequest(
            group_id=single.group_id, members=[MemberIdentity(member_id=single.member_id)]
        )
        self._one(call._replace(request=request), unpack, now_ms)

    def _consumer_heartbeat(self, call: Call, done: Done, now_ms: int) -> None:
        if not self.config.serves_consumer_protocol:
            done(call.refuse(UnsupportedVersion("The consumer group protocol is disabled.")))
        else:
            self.schedule(call.request.group_id, call, done, now_ms)

    # Requests for several groups

    def _fetch(self, call: Call, done: Done, now_ms: int) -> None:
        fanout.fetch_offsets(self, call.request, call.version, done, now_ms)

    def _describe(self, call: Call, done: Done, now_ms: int) -> None:
        fanout.describe(self, call, done, now_ms)

    def _describe_consumer(self, call: Call, done: Done, now_ms: int) -> None:
        fanout.describe_consumer(self, call, done, now_ms)

    def _delete(self, call: Call, done: Done, now_ms: int) -> None:
        fanout.delete(self, call, done, now_ms)

    def _list(self, call: Call, done: Done, now_ms: int) -> None:
        fanout.list_groups(self, call, done, now_ms)

"""A group coordinator on one partition, with a log in memory and time as a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from memory_log import MemoryLog

from barnabas.coordinator.group.config import GroupConfig
from barnabas.coordinator.group.embedded import encode_assignment
from barnabas.coordinator.group.events import Call
from barnabas.coordinator.group.service import GroupCoordinator, make_runtime
from barnabas.coordinator.group.shard import GroupShard
from barnabas.coordinator.group.topics import TopicInfo, TopicTable
from barnabas.coordinator.runtime import Producer
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

START_MS = 1_700_000_000_000
GROUP = "g"


def topic_id(name: str) -> bytes:
    """An id that can be recognised in a failure."""
    return name.encode().ljust(16, b".")[:16]


def topic(name: str, partitions: int) -> TopicInfo:
    return TopicInfo(name, topic_id(name), partitions)


@dataclass(slots=True)
class Pending:
    """A request that was sent."""

    replies: list[Any] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        return not self.replies

    @property
    def reply(self) -> Any:
        assert len(self.replies) == 1, f"answered {len(self.replies)} times"
        return self.replies[0]

    @property
    def error(self) -> int:
        return int(self.reply.error_code)


class GroupMachine:
    """Drives a coordinator.  Times are relative to its start.

    With `turns`, what is decided is gathered until `end_turn`; without, every request is a turn.
    """

    def __init__(
        self,
        topics: Iterable[TopicInfo] = (),
        *,
        config: GroupConfig | None = None,
        turns: bool = False,
    ) -> None:
        self.config = config or GroupConfig(initial_rebalance_delay_ms=100)
        self.topics = TopicTable(topics)
        self.log = MemoryLog()
        self.now_ms = START_MS
        self.ids = 0
        self.reloads = 0
        self._turn_ends: list[Callable[[], None]] = []
        self.runtime = make_runtime(
            config=self.config,
            topics=self.topics,
            appender=self.log,
            reload=self._reload,
            new_id=self._new_id,
            at_turn_end=self._turn_ends.append if turns else None,
        )
        self.coordinator = GroupCoordinator(
            runtime=self.runtime, config=self.config, partitions=lambda: 1
        )
        self.runtime.load(0, (), now_ms=self.now_ms)

    def _new_id(self) -> str:
        self.ids += 1
        return f"id{self.ids}"

    def _reload(self, partition: int, epoch: int) -> None:
        self.reloads += 1
        self.runtime.load(partition, self.log.batches, epoch=epoch, now_ms=self.now_ms)

    def end_turn(self) -> None:
        """Append what was gathered, and what comes of it."""
        while self._turn_ends:
            self._turn_ends.pop(0)()

    @property
    def shard(self) -> GroupShard:
        shard = self.runtime.shard(0)
        assert isinstance(shard, GroupShard)
        return shard

    def restart(self, batches: Iterable[bytes] | None = None) -> None:
        """Forget everything and load the log, or what is given as one."""
        self.runtime.unload(0)
        log = self.log.batches if batches is None else list(batches)
        self.runtime.load(0, log, epoch=1, now_ms=self.now_ms)

    def copy_from(self, batches: Iterable[bytes]) -> GroupShard:
        """A shard of its own that has loaded `batches`."""
        other = GroupMachine(config=self.config)
        other.topics = self.topics
        other.now_ms = self.now_ms
        other.runtime.unload(0)
        other.runtime.load(0, batches, now_ms=self.now_ms)
        return other.shard

    def advance(self, ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + ms
        while self.runtime.due_ms <= end_ms:
            self.now_ms = max(self.now_ms, int(self.runtime.due_ms))
            self.runtime.tick(self.now_ms)
        self.now_ms = end_ms

    def send(
        self,
        request: Any,
        *,
        version: int | None = None,
        client_id: str = "c",
        client_host: str = "/127.0.0.1",
    ) -> Pending:
        pending = Pending()
        call = Call(
            request=request,
            version=request.max_version if version is None else version,
            client_id=client_id,
            client_host=client_host,
        )
        self.coordinator.handle(call, pending.replies.append, now_ms=self.now_ms)
        return pending

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        group: str = GROUP,
        instance: str | None = None,
        protocols: Iterable[tuple[str, bytes]] = (("range", b"meta"),),
        protocol_type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
        version: int = 9,
        client_id: str = "c",
    ) -> Pending:
        return self.send(
            JoinGroupRequest(
                group_id=group,
                session_timeout_ms=session_ms,
                rebalance_timeout_ms=rebalance_ms,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type=protocol_type,
                protocols=[
                    JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols
                ],
            ),
            version=version,
            client_id=client_id,
        )

    def new_member(self, **options: Any) -> tuple[str, Pending]:
        """The handshake of a dynamic member: its id, and its join, which may wait."""
        member_id = self.join(**options).reply.member_id
        return member_id, self.join(member_id, **options)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        group: str = GROUP,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        version: int = 5,
    ) -> Pending:
        return self.send(
            SyncGroupRequest(
                group_id=group,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type=protocol_type,
                protocol_name=protocol_name,
                assignments=[
                    SyncGroupRequestAssignment(member_id=m, assignment=a)
                    for m, a in (assignments or {}).items()
                ],
            ),
            version=version,
        )

    def heartbeat(
        self, member_id: str, generation: int, *, group: str = GROUP, instance: str | None = None
    ) -> int:
        return self.send(
            HeartbeatRequest(
                group_id=group,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=instance,
            )
        ).error

    def leave(self, *members: tuple[str, str | None], group: str = GROUP) -> Any:
        return self.send(
            LeaveGroupRequest(
                group_id=group,
                members=[MemberIdentity(member_id=m, group_instance_id=i) for m, i in members],
            )
        ).reply

    def stable_group(self, count: int = 1, **options: Any) -> tuple[int, list[str]]:
        """A classic group of `count` members, assigned: its generation and their ids."""
        joins = [self.new_member(**options) for _ in range(count)]
        while joins[0][1].waits:
            self.advance(self.config.initial_rebalance_delay_ms)
        ids = [member_id for member_id, _ in joins]
        joined = joins[0][1].reply
        generation, leader = joined.generation_id, joined.leader
        for member_id in sorted(ids, key=lambda m: m != leader):
            plan = {m: m.encode() for m in ids} if member_id == leader else None
            sync = self.sync(
                member_id,
                generation,
                plan,
                protocol_type=joined.protocol_type,
                protocol_name=joined.protocol_name,
            )
            assert sync.error == 0
        return generation, ids

    def commit(
        self,
        offset: int,
        *,
        member: str = "",
        epoch: int = -1,
        group: str = GROUP,
        topic: str = "t",
        partition: int = 0,
        instance: str | None = None,
        metadata: str = "",
        retention_ms: int = -1,
        version: int = 9,
    ) -> int:
        reply = self.send(
            OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=epoch,
                member_id=member,
                group_instance_id=instance,
                retention_time_ms=retention_ms,
                topics=[
                    OffsetCommitRequestTopic(
                        name=topic,
                        partitions=[
                            OffsetCommitRequestPartition(
                                partition_index=partition,
                                committed_offset=offset,
                                committed_metadata=metadata,
                            )
                        ],
                    )
                ],
            ),
            version=version,
        ).reply
        return int(reply.topics[0].partitions[0].error_code)

    def txn_commit(
        self,
        offset: int,
        *,
        producer: int = 7,
        group: str = GROUP,
        topic: str = "t",
        partition: int = 0,
        member: str = "",
        generation: int = -1,
    ) -> int:
        reply = self.send(
            TxnOffsetCommitRequest(
                transactional_id="x",
                group_id=group,
                producer_id=producer,
                producer_epoch=0,
                generation_id=generation,
                member_id=member,
                topics=[
                    TxnOffsetCommitRequestTopic(
                        name=topic,
                        partitions=[
                            TxnOffsetCommitRequestPartition(
                                partition_index=partition, committed_offset=offset
                            )
                        ],
                    )
                ],
            )
        ).reply
        return int(reply.topics[0].partitions[0].error_code)

    def end_txn(self, *, producer: int = 7, committed: bool) -> None:
        errors: list[object] = []
        self.runtime.end_transaction(
            0,
            Producer(producer, 0),
            committed=committed,
            coordinator_epoch=0,
            now_ms=self.now_ms,
            done=errors.append,
        )
        assert errors == [None]

    def fetch(
        self,
        *,
        group: str = GROUP,
        topic: str = "t",
        partition: int = 0,
        require_stable: bool = False,
        member: str | None = None,
        epoch: int = -1,
    ) -> tuple[int, int]:
        """(offset, error of the partition or the group)."""
        found = self.send(
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        group_id=group,
                        member_id=member,
                        member_epoch=epoch,
                        topics=[
                            OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])
                        ],
                    )
                ],
                require_stable=require_stable,
            )
        ).reply.groups[0]
        if found.error_code:
            return -1, int(found.error_code)
        answer = found.topics[0].partitions[0]
        return int(answer.committed_offset), int(answer.error_code)

    def consume(
        self,
        member_id: str,
        epoch: int = 0,
        *,
        names: list[str] | None = None,
        regex: str | None = None,
        owned: dict[str, list[int]] | None = None,
        instance: str | None = None,
        assignor: str | None = None,
        rebalance_ms: int | None = None,
        group: str = GROUP,
        version: int = 1,
    ) -> Any:
        """A ConsumerGroupHeartbeat; joining ones get what they must have."""
        joins = epoch == 0
        if rebalance_ms is None:
            rebalance_ms = 60_000 if joins else -1
        if joins and owned is None:
            owned = {}
        partitions = None
        if owned is not None:
            partitions = [
                TopicPartitions(topic_id=topic_id(name), partitions=indexes)
                for name, indexes in owned.items()
            ]
        return self.send(
            ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=member_id,
                member_epoch=epoch,
                instance_id=instance,
                rebalance_timeout_ms=rebalance_ms,
                subscribed_topic_names=names,
                subscribed_topic_regex=regex,
                server_assignor=assignor,
                topic_partitions=partitions,
            ),
            version=version,
        ).reply

    def describe(self, group: str = GROUP, version: int = 6) -> Any:
        request = DescribeGroupsRequest(groups=[group])
        return self.send(request, version=version).reply.groups[0]

    def describe_consumer(self, group: str = GROUP) -> Any:
        return self.send(ConsumerGroupDescribeRequest(group_ids=[group])).reply.groups[0]


def subscription(
    *topics: str, owned: dict[str, list[int]] | None = None, version: int = 1
) -> bytes:
    """The metadata of a classic consumer."""
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=indexes)
            for name, indexes in (owned or {}).items()
        ],
    )
    return version.to_bytes(2, "big") + message.encode(version)


def assignment(topics: TopicTable, partitions: dict[str, list[int]], version: int = 1) -> bytes:
    """What a classic leader gives a member."""
    return encode_assignment(
        {topic_id(name): frozenset(indexes) for name, indexes in partitions.items()},
        topics,
        version,
    )


def given(reply: Any) -> dict[str, list[int]]:
    """The partitions in a ConsumerGroupHeartbeat's response."""
    return {
        item.topic_id.decode().rstrip("."): item.partitions
        for item in reply.assignment.topic_partitions
    }

"""Groups and transactions of every kind on one broker.

Request by request, so that nothing happens that was not asked for, and answers can be compared as a
whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from eventually import eventually
from wire_client import WireClient, batch_of, produce_request, produced

from barnabas.protocol.message import Message
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TOPIC = "t"
PARTITIONS = 6
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
SESSION_MS = 600_000
MEMBER_ID_REQUIRED, LOADING, NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT = 79, 14, 15, 16, 51
PASSING = {LOADING, NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT}
PRODUCE_ADDS_VERSION = 12

CLASSIC = ("eager", "cooperative", "static", "empty", "simple", "deleted", "pending", "never")
CONSUMER = ("consumer", "moving", "pattern", "left", "mixed", "never")
TRANSACTIONAL = ("open", "committed", "aborted", "fresh", "again", "never")


def ask(client: WireClient, request: Message, version: int) -> Any:
    """The answer, once the coordinator is there and has nothing else to do."""

    def answered() -> Any:
        answer = client.call(request, version)
        return None if getattr(answer, "error_code", 0) in PASSING else answer

    return eventually(answered)


def await_coordinators(client: WireClient) -> None:
    """Both internal topics exist, and are loaded."""
    for kind in (0, 1):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["any"])
        eventually(lambda r=request: client.call(r, 4).coordinators[0].error_code == 0)
    eventually(lambda: client.call(ListGroupsRequest(), 5).error_code == 0)
    listing = ListTransactionsRequest()
    eventually(lambda: client.call(listing, 1).error_code == 0)


@dataclass(slots=True)
class ClassicMember:
    """A member of a classic group, joined and synchronised."""

    group: str
    member_id: str
    generation: int
    instance_id: str | None = None

    def heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )


@dataclass(slots=True)
class ConsumerMember:
    """A member of a consumer group, with what it was last told."""

    group: str
    member_id: str
    epoch: int
    assignment: list[TopicPartitions] = field(default_factory=list)
    instance_id: str | None = None

    def heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """Says what it owns, and so asks for its assignment."""
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
        )


class Coordinated:
    """Fills one broker; afterwards `classic` and `consumer` are the members that live."""

    def __init__(self, client: WireClient) -> None:
        self.client = client
        self.classic: list[ClassicMember] = []
        self.consumer: list[ConsumerMember] = []
        self.session_ms = SESSION_MS

    def fill(self) -> None:
        await_coordinators(self.client)
        self._classic_groups()
        self._consumer_groups()
        self._transactions()

    # Classic groups

    def _classic_groups(self) -> None:
        self.classic += self.join("eager", "range", 2)
        self.commit("eager", self.classic[0].member_id, self.classic[0].generation, "old", "new")
        self.classic += self.join("cooperative", "cooperative-sticky", 1)
        self.classic += self.join("static", "range", 2, static=True)
        (gone,) = self.join("empty", "range", 1)
        self.commit("empty", gone.member_id, gone.generation, "é" * 10)
        leaving = LeaveGroupRequest(
            group_id="empty", members=[MemberIdentity(member_id=gone.member_id)]
        )
        assert ask(self.client, leaving, 5).error_code == 0
        self.commit("simple", "", -1, *(f"metadata {n}" for n in range(40)))
        self.commit("deleted", "", -1, "gone")
        deleting = DeleteGroupsRequest(groups_names=["deleted"])
        assert self.client.call(deleting, 2).results[0].error_code == 0

    def join(
        self, group: str, protocol: str, size: int, *, static: bool = False
    ) -> list[ClassicMember]:
        """A stable group of that size; members join on connections of their own, all at once."""
        connections = [WireClient(self.client.sock.getpeername()[1]) for _ in range(size)]
        try:
            requests = [self._joining(group, protocol, n if static else None) for n in range(size)]
            for connection, request in zip(connections, requests, strict=True):
                if not static:
                    told = ask(connection, request, 9)
                    assert told.error_code == MEMBER_ID_REQUIRED, told
                    request.member_id = told.member_id
            for connection, request in zip(connections, requests, strict=True):
                connection.send(request, 9)
            joined = [c.receive(r, 9) for c, r in zip(connections, requests, strict=True)]
            assert {one.error_code for one in joined} == {0}, joined
            assert {one.generation_id for one in joined} == {1}, "all in the first rebalance"
            syncs = [self._synchronising(group, protocol, one) for one in joined]
            for connection, sync in zip(connections, syncs, strict=True):
                connection.send(sync, 5)
            answers = [c.receive(s, 5) for c, s in zip(connections, syncs, strict=True)]
            assert {answer.error_code for answer in answers} == {0}, answers
        finally:
            for connection in connections:
                connection.close()
        return [
            ClassicMember(group, one.member_id, one.generation_id, request.group_instance_id)
            for one, request in zip(joined, requests, strict=True)
        ]

    def _joining(self, group: str, protocol: str, number: int | None) -> JoinGroupRequest:
        subscription = ConsumerProtocolSubscription(topics=[TOPIC], generation_id=-1)
        metadata = b"\0\3" + subscription.encode(3)
        return JoinGroupRequest(
            group_id=group,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=SESSION_MS,
            group_instance_id=None if number is None else f"instance {number}",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=protocol, metadata=metadata)],
        )

    def _synchronising(self, group: str, protocol: str, joined: Any) -> SyncGroupRequest:
        count = len(joined.members)
        return SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name=protocol,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=member.member_id,
                    assignment=b"\0\3" + _assignment(range(n, PARTITIONS, count)).encode(3),
                )
                for n, member in enumerate(joined.members)
            ],
        )

    def commit(self, group: str, member_id: str, epoch: int, *texts: str) -> None:
        """One commit for each text; each replaces the one before."""
        for number, text in enumerate(texts):
            partitions = [
                OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=100 * number + index,
                    committed_leader_epoch=0,
                    committed_metadata=text,
                )
                for index in range(PARTITIONS)
            ]
            request = OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=epoch,
                member_id=member_id,
                topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
            )
            answer = self.client.call(request, 9)
            codes = {p.error_code for topic in answer.topics for p in topic.partitions}
            assert codes == {0}, answer

    # Consumer groups

    def _consumer_groups(self) -> None:
        first = self.beat(ConsumerMember("consumer", "c-1", 0), names=[TOPIC])
        second = self.beat(
            ConsumerMember("consumer", "c-2", 0, instance_id="instance 2"), names=[TOPIC]
        )
        self.reconcile(first, second)
        self.commit("consumer", "c-1", first.epoch, "by epoch")
        moving = self.beat(ConsumerMember("moving", "m-1", 0), names=[TOPIC])
        waiting = self.beat(ConsumerMember("moving", "m-2", 0), names=[TOPIC])
        eventually(lambda: len(_indexes(self.beat(moving))) < PARTITIONS)  # told, not given up
        pattern = self.beat(ConsumerMember("pattern", "p-1", 0), pattern="^t$")
        eventually(lambda: _indexes(self.beat(pattern)) == set(range(PARTITIONS)))
        gone = self.beat(ConsumerMember("left", "l-1", 0), names=[TOPIC])
        self.commit("left", "l-1", gone.epoch, "left behind")
        gone.epoch = -1
        self.beat(gone)
        self.consumer += [first, second, moving, waiting, pattern]
        (old,) = self.join("mixed", "range", 1)
        new = self.beat(ConsumerMember("mixed", "x-1", 0), names=[TOPIC])
        self.classic.append(old)
        self.consumer.append(new)

    def beat(
        self, member: ConsumerMember, *, names: list[str] | None = None, pattern: str | None = None
    ) -> ConsumerMember:
        request = member.heartbeat()
        if member.epoch == 0:
            request.rebalance_timeout_ms = SESSION_MS
            request.subscribed_topic_names = names
            request.subscribed_topic_regex = pattern
            request.topic_partitions = []
        self._hear(member, request)
        return member

    def _hear(self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
        answer = ask(self.client, request, 1)
        assert answer.error_code == 0, answer
        member.epoch = answer.member_epoch
        if answer.assignment is not None:
            member.assignment = [
                TopicPartitions(topic_id=entry.topic_id, partitions=list(entry.partitions))
                for entry in answer.assignment.topic_partitions
            ]

    def own(self, member: ConsumerMember) -> None:
        """The member has done what it was told."""
        request = member.heartbeat()
        request.topic_partitions = member.assignment
        self._hear(member, request)

    def reconcile(self, *members: ConsumerMember) -> None:
        """Until everyone has its share."""

        def has_shares() -> bool:
            for member in members:
                self.own(member)
            return all(len(_indexes(m)) == PARTITIONS // len(members) for m in members)

        eventually(has_shares)
        for member in members:
            self.own(member)

    # Transactions

    def _transactions(self) -> None:
        for name in ("open", "committed", "aborted", "fresh", "again"):
            who = self.begin(name)
            if name == "fresh":
                continue
            self.write(name, who)
            if name == "open":
                self.commit_in(name, who, "pending", 7)
            if name == "again":
                for _ in range(12):
                    who = self.end(name, who, commit=True)
                    self.write(name, who)
                self.commit_in(name, who, "simple", 5000)
                self.end(name, who, commit=True)
            elif name != "open":
                self.end(name, who, commit=name == "committed")

    def begin(self, name: str) -> tuple[int, int]:
        """Become the producer of `name`: producer id and epoch."""
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=SESSION_MS)
        answer = ask(self.client, request, 5)
        assert answer.error_code == 0, answer
        return answer.producer_id, answer.producer_epoch

    def write(self, name: str, who: tuple[int, int]) -> None:
        adding = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=who[0],
            v3_and_below_producer_epoch=who[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])],
        )

        def is_added() -> bool:
            (topic,) = self.client.call(adding, 3).results_by_topic_v3_and_below
            return topic.results_by_partition[0].partition_error_code == 0

        eventually(is_added)
        batch = batch_of(
            b"v", producer_id=who[0], producer_epoch=who[1], base_sequence=0, transactional=True
        )
        request = produce_request(TOPIC, batch)
        request.transactional_id = name
        answer = produced(self.client.call(request, PRODUCE_ADDS_VERSION))
        assert answer[0] == 0, answer

    def commit_in(self, name: str, who: tuple[int, int], group: str, offset: int) -> None:
        partition = TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=f"in {name}"
        )
        request = TxnOffsetCommitRequest(
            transactional_id=name,
            group_id=group,
            producer_id=who[0],
            producer_epoch=who[1],
            topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
        )
        (topic,) = self.client.call(request, 5).topics
        assert topic.partitions[0].error_code == 0, topic

    def end(self, name: str, who: tuple[int, int], *, commit: bool) -> tuple[int, int]:
        request = EndTxnRequest(
            transactional_id=name, producer_id=who[0], producer_epoch=who[1], committed=commit
        )
        answer = ask(self.client, request, 5)
        assert answer.error_code == 0, answer
        return answer.producer_id, answer.producer_epoch


def _assignment(partitions: Iterable[int]) -> ConsumerProtocolAssignment:
    entry = ConsumerProtocolAssignmentTopicPartition(topic=TOPIC, partitions=list(partitions))
    return ConsumerProtocolAssignment(assigned_partitions=[entry])


def _indexes(member: ConsumerMember) -> set[int]:
    return {index for entry in member.assignment for index in entry.partitions}

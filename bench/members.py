"""Members of groups without a client: what they say is what the protocols make them say.

A member notices a rebalance by its heartbeats.  Between two of them these members rest for much
less time than real ones, so that what is measured is the broker and not their patience.
"""

from __future__ import annotations

import struct
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from crowd import BadAnswerError, Crowd, decoded, encoded

from barnabas.protocol.message import Message
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

VERSIONS: dict[type[Message], int] = {
    JoinGroupRequest: 9,
    SyncGroupRequest: 5,
    HeartbeatRequest: 4,
    LeaveGroupRequest: 5,
    OffsetCommitRequest: 9,
    ConsumerGroupHeartbeatRequest: 1,
}
REST_S = 0.05
SETTLE_S = 120
SESSION_MS = REBALANCE_MS = 300_000
REBALANCE_IN_PROGRESS = 27
MEMBER_ID_REQUIRED = 79
NOT_YET = {14, 15, 16}
"""The coordinator of the group is not ready, which ends."""
SUBSCRIPTION_VERSION = ASSIGNMENT_VERSION = 0


class Member(ABC):
    """One member, on one connection."""

    def __init__(self, group_id: str, topic: str) -> None:
        self.group_id = group_id
        self.topic = topic
        self.member_id = ""
        self.epoch = -1
        self.partitions: frozenset[int] = frozenset()

    @abstractmethod
    def join(self) -> Message:
        """What it says first."""

    @abstractmethod
    def heartbeat(self) -> Message:
        """What it says when nothing is new."""

    @abstractmethod
    def leave(self) -> Message:
        """What it says last."""

    @abstractmethod
    def hear(self, asked: Message, answer: Any) -> Message | None:
        """What it says to an answer at once; None: it rests."""

    def commit(self) -> Message:
        """It has read a record of its partition."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        return OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.epoch,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name=self.topic, partitions=[partition])],
        )


class ClassicMember(Member):
    """A consumer with the classic protocol; the leader deals partitions out in turn."""

    def __init__(self, group_id: str, topic: str, partition_count: int) -> None:
        super().__init__(group_id, topic)
        self.partition_count = partition_count
        name = topic.encode()
        self._subscription = struct.pack(
            f">hih{len(name)}si", SUBSCRIPTION_VERSION, 1, len(name), name, -1
        )

    def join(self) -> Message:
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=self._subscription)],
        )

    def heartbeat(self) -> Message:
        return HeartbeatRequest(
            group_id=self.group_id, generation_id=self.epoch, member_id=self.member_id
        )

    def leave(self) -> Message:
        return LeaveGroupRequest(
            group_id=self.group_id, members=[MemberIdentity(member_id=self.member_id)]
        )

    def hear(self, asked: Message, answer: Any) -> Message | None:
        code = answer.error_code
        if code in NOT_YET:
            return asked
        if isinstance(asked, JoinGroupRequest):
            self.member_id = answer.member_id
            if code == MEMBER_ID_REQUIRED:
                return self.join()
            if code == 0:
                self.epoch = answer.generation_id
                self.partitions = frozenset()
                return self._sync(answer)
        elif code == REBALANCE_IN_PROGRESS:
            return self.join()
        elif code == 0:
            if isinstance(asked, SyncGroupRequest):
                self.partitions = self._assigned(answer.assignment)
            return None
        raise BadAnswerError(f"error {code} to {asked!r}")

    def _sync(self, joined: Any) -> Message:
        count = len(joined.members)
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.epoch,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=member.member_id,
                    assignment=self._assignment(range(n, self.partition_count, count)),
                )
                for n, member in enumerate(joined.members)
            ],
        )

    def _assignment(self, partitions: Sequence[int]) -> bytes:
        name = self.topic.encode()
        return struct.pack(
            f">hih{len(name)}si{len(partitions)}ii",
            ASSIGNMENT_VERSION,
            1,
            len(name),
            name,
            len(partitions),
            *partitions,
            -1,
        )

    def _assigned(self, assignment: bytes) -> frozenset[int]:
        at = 2 + 4 + 2 + len(self.topic.encode())
        (count,) = struct.unpack_from(">i", assignment, at)
        return frozenset(struct.unpack_from(f">{count}i", assignment, at + 4))


class ConsumerMember(Member):
    """A consumer with KIP-848's protocol: gives up and takes partitions as soon as it is told."""

    def __init__(self, group_id: str, topic: str, member_id: str) -> None:
        super().__init__(group_id, topic)
        self.member_id = member_id

    def join(self) -> Message:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=0,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[self.topic],
            topic_partitions=[],
        )

    def heartbeat(self) -> Message:
        return self._beat(self.epoch)

    def leave(self) -> Message:
        return self._beat(-1)

    def _beat(self, epoch: int, owned: list[TopicPartitions] | None = None) -> Message:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            topic_partitions=owned,
        )

    def hear(self, asked: Message, answer: Any) -> Message | None:
        if answer.error_code in NOT_YET:
            return asked
        if answer.error_code:
            raise BadAnswerError(f"error {answer.error_code} to {asked!r}")
        self.epoch = answer.member_epoch
        if answer.assignment is None:
            return None
        told = answer.assignment.topic_partitions
        self.partitions = frozenset(index for entry in told for index in entry.partitions)
        return self._beat(
            self.epoch,
            [TopicPartitions(topic_id=e.topic_id, partitions=e.partitions) for e in told],
        )


class Members:
    """Members on the connections of a crowd, all busy with their groups until those are stable."""

    def __init__(self, crowd: Crowd, partition_count: int) -> None:
        self.crowd = crowd
        self.partition_count = partition_count
        self.members: dict[int, Member] = {}
        """By the number of the connection."""
        self._epochs: dict[str, Counter[int]] = {}
        """How many members of each group are at which epoch: looked at after every answer."""
        self._asked: dict[int, Message] = {}
        self._prepared: dict[int, tuple[Message, bytes]] = {}
        """The next heartbeat of each member that rests, as a frame."""
        self._resting: deque[tuple[float, int]] = deque()
        self._is_stable = False

    def arrive(self, index: int, member: Member) -> None:
        self.members[index] = member
        self._count(member.group_id, member.epoch, 1)
        self._say(index, member.join())

    def depart(self, index: int) -> None:
        """The member leaves, between two settlements."""
        member = self.members.pop(index)
        self._count(member.group_id, member.epoch, -1)
        request = member.leave()
        answer = self.crowd.ask({index: request_bytes(request)})[index]
        code = decoded(answer, type(request), VERSIONS[type(request)]).error_code
        if code:
            raise BadAnswerError(f"error {code} to {request!r}")

    def prepare(self) -> None:
        """Make the members' next heartbeats beforehand: then what is timed is more the broker."""
        beats = {index: member.heartbeat() for index, member in self.members.items()}
        self._prepared = {index: (beat, request_bytes(beat)) for index, beat in beats.items()}

    def settle(self) -> None:
        """Let all members talk until every group is stable: same epoch, partitions dealt out."""
        deadline = time.monotonic() + SETTLE_S
        self._resting.extend((0.0, index) for index in self.members if index not in self._asked)
        self._is_stable = self._look()
        while self._asked or not self._is_stable:
            if time.monotonic() > deadline:
                raise BadAnswerError("the groups do not become stable")
            while not self._is_stable and self._resting and self._resting[0][0] <= time.monotonic():
                self._beat(self._resting.popleft()[1])
            wait_s = self._resting[0][0] - time.monotonic() if self._resting else 1.0
            changed = [self._hear(*heard) for heard in self.crowd.receive(max(wait_s, 0.0))]
            if any(changed):
                self._is_stable = self._look()
        self._resting.clear()
        self._prepared.clear()

    def requests(self, kind: str) -> list[bytes]:
        """What each member says when it beats or commits, in the order of the connections."""
        return [request_bytes(getattr(m, kind)()) for _, m in sorted(self.members.items())]

    def request_type(self, kind: str) -> type[Message]:
        return type(getattr(next(iter(self.members.values())), kind)())

    def _beat(self, index: int) -> None:
        prepared = self._prepared.pop(index, None)
        if prepared is None:
            self._say(index, self.members[index].heartbeat())
        else:
            self._asked[index], frame = prepared
            self.crowd.send(index, frame)

    def _say(self, index: int, request: Message) -> None:
        self._asked[index] = request
        self.crowd.send(index, request_bytes(request))

    def _hear(self, index: int, answer: bytes) -> bool:
        """Whether anything changed for the member."""
        asked, member = self._asked.pop(index), self.members[index]
        before = member.epoch, member.partitions
        told = decoded(answer, type(asked), VERSIONS[type(asked)])
        following = member.hear(asked, told)
        if member.epoch != before[0]:
            self._count(member.group_id, before[0], -1)
            self._count(member.group_id, member.epoch, 1)
        if following is not None:
            self._say(index, following)
        else:
            self._resting.append((time.monotonic() + REST_S, index))
        return before != (member.epoch, member.partitions)

    def _count(self, group_id: str, epoch: int, change: int) -> None:
        epochs = self._epochs.setdefault(group_id, Counter())
        epochs[epoch] += change
        if not epochs[epoch]:
            del epochs[epoch]

    def _look(self) -> bool:
        if any(len(epochs) > 1 for epochs in self._epochs.values()):
            return False
        groups: dict[str, list[Member]] = {}
        for member in self.members.values():
            groups.setdefault(member.group_id, []).append(member)
        return all(self._is_group_stable(group) for group in groups.values())

    def _is_group_stable(self, group: Sequence[Member]) -> bool:
        least = self.partition_count // len(group)
        return (
            all(least <= len(member.partitions) <= least + 1 for member in group)
            and len(frozenset().union(*(m.partitions for m in group))) == self.partition_count
        )


def request_bytes(request: Message) -> bytes:
    return encoded(request, VERSIONS[type(request)])

"""Changes of in-sync sets: asked of the controller, many partitions in one AlterPartition.

`replication/followers.py` decides who should join or leave; the controller decides whether.  One
request is under way at a time; what comes up meanwhile goes into the next.  A change stays wanted
until the controller made it, refused it, or the metadata has moved on.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from barnabas.replication import leading

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message
    from barnabas.replication.followers import Followers
    from barnabas.replication.partition import Partition

logger = logging.getLogger("barnabas.isr")

RETRY_S = 0.05
RETRY_S_MAX = 1.0

REFUSED = frozenset(
    {
        ErrorCode.INELIGIBLE_REPLICA,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.INVALID_REQUEST,
    }
)
"""The change will not be made: all is as it was."""
OUTDATED = frozenset(
    {
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""The controller is ahead of us: metadata is on its way that says what holds."""


class _Asked(NamedTuple):
    """A change that is under way; it is still wanted while both are what they were."""

    partition: Partition
    followers: Followers
    isr: tuple[int, ...]

    @property
    def is_wanted(self) -> bool:
        return self.partition.followers is self.followers and self.followers.pending_isr == self.isr


class IsrChanges:
    """The changes that this broker, as a leader, wants."""

    def __init__(self, broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._wanted: dict[tuple[bytes, int], Partition] = {}
        self._under_way: dict[tuple[bytes, int], _Asked] = {}
        self._timer: asyncio.Handle | None = None
        self._failures = 0
        self._is_stopped = False

    def want(self, partition: Partition) -> None:
        """The in-sync set of `partition` should be its `pending_isr`."""
        self._wanted[partition.topic_id, partition.index] = partition
        if self._timer is None and not self._under_way:
            self._timer = self._loop.call_soon(self._ask)

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _ask(self) -> None:
        self._timer = None
        wanted, self._wanted = self._wanted, {}
        topics: dict[bytes, RequestTopicData] = {}
        for (topic_id, index), partition in wanted.items():
            followers = partition.followers
            if followers is None or followers.pending_isr is None:
                continue
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = RequestTopicData(
                    topic_id=topic_id, topic_name=partition.topic
                )
            topic.partitions.append(self._data(partition, followers, followers.pending_isr))
            self._under_way[topic_id, index] = _Asked(partition, followers, followers.pending_isr)
        if topics:
            request = AlterPartitionRequest(
                broker_id=self._broker.node_id,
                broker_epoch=self._broker.epoch,
                topics=list(topics.values()),
            )
            self._broker.controller.submit(request, self._answered)

    def _data(
        self, partition: Partition, followers: Followers, isr: tuple[int, ...]
    ) -> RequestPartitionData:
        return RequestPartitionData(
            partition_index=partition.index,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[
                BrokerState(
                    broker_id=node_id,
                    broker_epoch=self._broker.epoch
                    if node_id == self._broker.node_id
                    else followers.broker_epoch(node_id),
                )
                for node_id in isr
            ],
        )

    def _answered(self, response: Message) -> None:
        if self._is_stopped:
            return
        assert isinstance(response, AlterPartitionResponse)
        asked, self._under_way = self._under_way, {}
        if response.error_code:
            code = ErrorCode(response.error_code)
            if self._failures == 0:
                logger.warning("in-sync sets cannot be changed now: %s", code.name)
            self._retry(asked.values())
            return
        self._failures = 0
        again = []
        for topic in response.topics:
            for result in topic.partitions:
                change = asked.pop((topic.topic_id, result.partition_index), None)
                if change is not None and change.is_wanted and self._is_open(change, result):
                    again.append(change)
        again += [change for change in asked.values() if change.is_wanted]  # not answered
        if again:
            self._retry(again)
        elif self._wanted:
            self._ask()

    def _is_open(self, change: _Asked, result: ResponsePartitionData) -> bool:
        """Whether it has to be asked again."""
        partition = change.partition
        code = ErrorCode(result.error_code)
        if code is ErrorCode.NONE:
            if result.partition_epoch <= partition.partition_epoch:
                leading.isr_refused(self._broker.replicas, partition)  # nothing was to be changed
            return False
        logger.info(
            "%s-%d: in-sync set %s was not taken: %s",
            partition.topic,
            partition.index,
            list(change.isr),
            code.name,
        )
        if code in REFUSED:
            leading.isr_refused(self._broker.replicas, partition)
        return code not in REFUSED and code not in OUTDATED

    def _retry(self, changes: Iterable[_Asked]) -> None:
        for change in changes:
            if change.is_wanted:
                key = change.partition.topic_id, change.partition.index
                self._wanted[key] = change.partition
        if self._wanted and self._timer is None:
            pause = min(RETRY_S * (1 << min(self._failures, 10)), RETRY_S_MAX)
            self._failures += 1
            self._timer = self._loop.call_later(pause, self._ask)

"""What the controller is told of this broker's log directories (KIP-858).

Which replica is in which, where the metadata does not say so yet; and which have failed, so that
others lead what is in them.  A broker with one log directory has nothing to tell but its failure.
Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ImageChanges
    from barnabas.protocol.message import Message
    from barnabas.storage.log import Log

logger = logging.getLogger("barnabas.directories")

REPLICAS_PER_REQUEST_MAX = 2000


class Directories:
    """`apply` every change of metadata, `failed` when a directory fails, `tick` now and then."""

    def __init__(self, broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._unsaid: dict[tuple[bytes, int], None] = {}
        """Replicas, by topic id and index, whose place the controller may not know."""
        self._asked: list[tuple[bytes, int]] = []
        """What the controller was told and has not answered."""
        self._is_planned = False
        self._is_failure_unsaid = False

    def load(self) -> None:
        """Look at every replica that is here."""
        for topic in self._broker.image.topics.values():
            for index in range(len(topic.partitions)):
                self._look_at(topic.id, index)

    def apply(self, changes: ImageChanges) -> None:
        """These partitions have changed: their replicas may be new here."""
        for topic_id, index in changes.partitions:
            self._look_at(topic_id, index)

    def moved(self, log: Log) -> None:
        """A log is in another directory than before."""
        self._look_at(log.topic_id, log.partition)

    def _look_at(self, topic_id: bytes, index: int) -> None:
        if self._place(topic_id, index) is not None:
            self._unsaid[topic_id, index] = None
            self._plan()

    def failed(self) -> None:
        """A log directory has failed: tell it at once."""
        self._is_failure_unsaid = True
        self._tell_failure()

    def registered_again(self) -> None:
        """The registration names the directories of the start: what failed since is told again."""
        if any(directory.failure for directory in self._broker.logs.directories):
            self.failed()

    def tick(self) -> None:
        """Try again what could not be said."""
        if self._is_failure_unsaid:
            self._tell_failure()
        if self._unsaid:
            self._plan()

    # -- where replicas are

    def _place(self, topic_id: bytes, index: int) -> bytes | None:
        """The directory that a replica is in, if the metadata says something else."""
        topic = self._broker.image.topics_by_id.get(topic_id)
        if topic is None or index >= len(topic.partitions):
            return None
        partition, node_id = topic.partitions[index], self._broker.node_id
        log = self._broker.logs.get(topic.name, index)
        if node_id not in partition.replicas or log is None or log.topic_id != topic_id:
            return None
        place = self._broker.logs.directory_of(log).directory_id
        known = partition.directories[partition.replicas.index(node_id)]
        return place if known != place else None

    def _plan(self) -> None:
        """Say it when this turn of the loop is over: more may come."""
        if not self._is_planned and not self._asked:
            self._is_planned = True
            self._loop.call_soon(self._assign)

    def _assign(self) -> None:
        self._is_planned = False
        places: dict[bytes, dict[bytes, list[int]]] = {}
        count = 0
        for topic_id, index in list(self._unsaid):
            place = self._place(topic_id, index)
            if place is None:
                del self._unsaid[topic_id, index]
            elif count < REPLICAS_PER_REQUEST_MAX:
                count += 1
                places.setdefault(place, {}).setdefault(topic_id, []).append(index)
        if not places or self._broker.epoch < 0:
            return
        self._asked = [(t, i) for topics in places.values() for t in topics for i in topics[t]]
        self._broker.controller.submit(
            AssignReplicasToDirsRequest(
                broker_id=self._broker.node_id,
                broker_epoch=self._broker.epoch,
                directories=[_directory(place, topics) for place, topics in places.items()],
            ),
            self._assigned,
        )

    def _assigned(self, response: Message) -> None:
        """A replica that was refused is not this broker's any more: a change will tell."""
        asked, self._asked = self._asked, []
        assert isinstance(response, AssignReplicasToDirsResponse)
        if response.error_code:
            code = ErrorCode(response.error_code)
            logger.info("the controller could not be told where replicas are: %s", code.text)
            return
        for replica in asked:
            self._unsaid.pop(replica, None)
        if self._unsaid:
            self._plan()

    # -- failures

    def _tell_failure(self) -> None:
        broker = self._broker
        failed = [one.directory_id for one in broker.logs.directories if one.failure and one.meta]
        if not failed or broker.epoch < 0 or not broker.logs.usable_directories():
            return  # with none left this broker stops
        broker.controller.submit(
            BrokerHeartbeatRequest(
                broker_id=broker.node_id,
                broker_epoch=broker.epoch,
                current_metadata_offset=broker.image.applied_offset,
                offline_log_dirs=failed,
            ),
            self._failure_told,
        )

    def _failure_told(self, response: Message) -> None:
        if not getattr(response, "error_code", 0):
            self._is_failure_unsaid = False


def _directory(place: bytes, topics: dict[bytes, list[int]]) -> RequestDirectoryData:
    return RequestDirectoryData(
        id=place,
        topics=[
            RequestTopicData(
                topic_id=topic_id,
                partitions=[RequestPartitionData(partition_index=index) for index in indexes],
            )
            for topic_id, indexes in topics.items()
        ],
    )

"""AssignReplicasToDirs (KIP-858): a broker says in which log directory each of its replicas is.

So that, when it later says that a directory has failed, the controller knows which partitions
need another leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    InvalidRequest,
    NotLeader,
    UnknownTopicId,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.controller.decider.broker_epochs import check_epoch
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import Elections, Wish
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)

if TYPE_CHECKING:
    from barnabas.controller.image import BrokerImage, ClusterImage, TopicImage
    from barnabas.protocol.message import Message


def decide(
    image: ClusterImage, request: AssignReplicasToDirsRequest, now_ms: int, env: Environment
) -> Decision:
    """Each replica by itself.  One in a directory that is gone is out of sync from now on."""
    try:
        broker = check_epoch(image, request.broker_id, request.broker_epoch)
    except ApiError as error:
        return Decision(response=refuse(request, error))
    plans = _Plans(image, env, broker)
    directories = [
        ResponseDirectoryData(
            id=directory.id,
            topics=[
                ResponseTopicData(
                    topic_id=topic.topic_id,
                    partitions=[
                        ResponsePartitionData(
                            partition_index=partition.partition_index,
                            error_code=plans.assign(
                                directory.id, topic.topic_id, partition.partition_index
                            ),
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in directory.topics
            ],
        )
        for directory in request.directories
    ]
    return Decision(
        records=tuple(plans.records),
        response=AssignReplicasToDirsResponse(directories=directories),
    )


def refuse(request: AssignReplicasToDirsRequest, error: Exception) -> AssignReplicasToDirsResponse:
    """The answer when nothing of the request could be done."""
    return AssignReplicasToDirsResponse(error_code=code_for(error))


class _Plans:
    """Collects the records of one request."""

    def __init__(self, image: ClusterImage, env: Environment, broker: BrokerImage) -> None:
        self.records: list[Message] = []
        self._image = image
        self._broker = broker
        self._staying = Elections(image, env)
        self._leaving = Elections(image, env, going=broker.id)
        self._seen: set[tuple[bytes, int]] = set()

    def assign(self, directory: bytes, topic_id: bytes, index: int) -> int:
        """Plan it; the error code."""
        try:
            topic = self._find(topic_id, index)
        except ApiError as error:
            return int(code_for(error))
        self._seen.add((topic_id, index))
        places = {self._broker.id: directory}
        if self._broker.has_directory(directory):
            record = self._staying.plan(topic, index, Wish(directories=places))
        else:
            isr = tuple(r for r in topic.partitions[index].isr if r != self._broker.id)
            record = self._leaving.plan(topic, index, Wish(directories=places, isr=isr))
        if record is not None:
            self.records.append(record)
        return 0

    def _find(self, topic_id: bytes, index: int) -> TopicImage:
        topic = self._image.topics_by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicId
        if not 0 <= index < len(topic.partitions):
            raise UnknownTopicOrPartition
        if self._broker.id not in topic.partitions[index].replicas:
            raise NotLeader
        if (topic_id, index) in self._seen:
            raise InvalidRequest
        return topic

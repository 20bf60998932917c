"""AlterPartition: the leader of a partition says who is in sync now.

Two epochs guard it: the leader epoch (is it still the leader?) and the partition epoch (has it seen
the last change?).  Only brokers that are active, in exactly the incarnation the leader has seen,
may join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    NotController,
    UnknownTopicId,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.controller.decider.broker_epochs import check_epoch
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.image_types import PartitionImage, TopicImage
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.protocol.messages.metadata_records import PartitionChangeRecord

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

_UNKNOWN_EPOCH = -1


def decide(
    image: ClusterImage, request: AlterPartitionRequest, now_ms: int, env: Environment
) -> Decision:
    """Each partition by itself."""
    try:
        check_epoch(image, request.broker_id, request.broker_epoch)
    except ApiError as error:
        return Decision(response=refuse(request, error))
    records: list[Message] = []
    topics = []
    for asked in request.topics:
        topic = image.topics_by_id.get(asked.topic_id) or image.topics.get(asked.topic_name)
        results = []
        for data in asked.partitions:
            try:
                partition = _find(topic, asked, data)
                record = _change(image, request.broker_id, topic, partition, data)
            except ApiError as error:
                results.append(
                    ResponsePartitionData(
                        partition_index=data.partition_index, error_code=code_for(error)
                    )
                )
                continue
            if record is not None:
                records.append(record)
            results.append(_result(data.partition_index, partition, record))
        topics.append(
            ResponseTopicData(
                topic_name=asked.topic_name, topic_id=asked.topic_id, partitions=results
            )
        )
    return Decision(records=tuple(records), response=AlterPartitionResponse(topics=topics))


def refuse(request: AlterPartitionRequest, error: Exception) -> AlterPartitionResponse:
    """The answer when nothing of the request could be done."""
    return AlterPartitionResponse(error_code=code_for(error))


def _find(
    topic: TopicImage | None, asked: RequestTopicData, data: RequestPartitionData
) -> PartitionImage:
    if topic is None:
        raise UnknownTopicOrPartition if asked.topic_name else UnknownTopicId
    if not 0 <= data.partition_index < len(topic.partitions):
        raise UnknownTopicOrPartition
    return topic.partitions[data.partition_index]


def _change(
    image: ClusterImage,
    broker_id: int,
    topic: TopicImage | None,
    partition: PartitionImage,
    data: RequestPartitionData,
) -> PartitionChangeRecord | None:
    assert topic is not None
    if (
        data.leader_epoch > partition.leader_epoch
        or data.partition_epoch > partition.partition_epoch
    ):
        raise NotController  # the leader knows more than this controller
    if data.leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpoch
    if broker_id != partition.leader:
        raise InvalidRequest
    if data.partition_epoch < partition.partition_epoch:
        raise InvalidUpdateVersion
    isr = _new_isr(data)
    _check_isr(image, partition, data, isr)
    recovered = partition.recovering and data.leader_recovery_state == 0
    wanted = tuple(broker for broker, _ in isr)
    if set(wanted) == set(partition.isr) and not recovered:
        return None
    record = PartitionChangeRecord(
        partition_id=data.partition_index, topic_id=topic.id, isr=list(wanted)
    )
    if recovered:
        record.leader_recovery_state = 0
    if set(partition.elr) & set(wanted):
        record.eligible_leader_replicas = [r for r in partition.elr if r not in wanted]
    return record


def _new_isr(data: RequestPartitionData) -> list[tuple[int, int]]:
    """Brokers and the epochs in which the leader knows them; -1 in versions without epochs."""
    if data.new_isr_with_epochs:
        return [(state.broker_id, state.broker_epoch) for state in data.new_isr_with_epochs]
    return [(broker_id, _UNKNOWN_EPOCH) for broker_id in data.new_isr]


def _check_isr(
    image: ClusterImage,
    partition: PartitionImage,
    data: RequestPartitionData,
    isr: list[tuple[int, int]],
) -> None:
    brokers = [broker for broker, _ in isr]
    if len(set(brokers)) < len(brokers) or not set(brokers) <= set(partition.replicas):
        raise InvalidRequest
    if partition.leader not in brokers:
        raise InvalidRequest
    recovering = data.leader_recovery_state == 1
    if recovering and (len(brokers) > 1 or not partition.recovering):
        raise InvalidRequest
    for broker_id, epoch in isr:
        broker = image.brokers.get(broker_id)
        if broker is None or not broker.is_active or epoch not in (_UNKNOWN_EPOCH, broker.epoch):
            raise IneligibleReplica


def _result(
    index: int, partition: PartitionImage, record: PartitionChangeRecord | None
) -> ResponsePartitionData:
    """The partition as it will be."""
    recovering, isr, epoch = partition.recovering, list(partition.isr), partition.partition_epoch
    if record is not None:
        isr = list(record.isr or isr)
        epoch += 1
        recovering = recovering and record.leader_recovery_state != 0
    return ResponsePartitionData(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=isr,
        leader_recovery_state=int(recovering),
        partition_epoch=epoch,
    )

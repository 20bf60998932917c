"""AlterPartition: the leader of a partition says who is in sync now.

Two epochs guard it: the leader epoch (is it still the leader?) and the partition epoch (has it seen
the last change?).  Only brokers that are active, in exactly the incarnation the leader has seen,
may join.  An ISR that has all the new replicas of a reassignment completes it.  A leader that
leaves itself out, because its disk is full, is replaced by one of those it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
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
from barnabas.controller.decider.elections import Elections, Wish
from barnabas.controller.image_types import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    PartitionImage,
    TopicImage,
)
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
    elections = Elections(image, env)
    seen: set[tuple[bytes, int]] = set()
    records: list[Message] = []
    topics = []
    for asked in request.topics:
        topic = image.topics_by_id.get(asked.topic_id) or image.topics.get(asked.topic_name)
        results = []
        for data in asked.partitions:
            try:
                found = _find(topic, asked, data, seen)
                partition = found.partitions[data.partition_index]
                wish = _wish(image, request.broker_id, partition, data)
                record = elections.plan(found, data.partition_index, wish)
                if record is not None and record.leader == NO_LEADER:
                    raise IneligibleReplica  # whoever can lead stays
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
    topic: TopicImage | None,
    asked: RequestTopicData,
    data: RequestPartitionData,
    seen: set[tuple[bytes, int]],
) -> TopicImage:
    """The topic, which has that partition; each can be changed once in a request."""
    if topic is None:
        raise UnknownTopicOrPartition if asked.topic_name else UnknownTopicId
    if not 0 <= data.partition_index < len(topic.partitions):
        raise UnknownTopicOrPartition
    if (topic.id, data.partition_index) in seen:
        raise InvalidRequest
    seen.add((topic.id, data.partition_index))
    return topic


def _wish(
    image: ClusterImage, broker_id: int, partition: PartitionImage, data: RequestPartitionData
) -> Wish:
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
    wanted = tuple(broker for broker, _ in isr)
    same = set(wanted) == set(partition.isr)  # in another order: that is no change
    return Wish(isr=None if same else wanted, recovering=data.leader_recovery_state == 1)


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
    recovering = data.leader_recovery_state == 1
    if not brokers or (partition.leader not in brokers and recovering):
        raise InvalidRequest
    if recovering and (len(brokers) > 1 or not partition.recovering):
        raise InvalidRequest
    for broker_id, epoch in isr:
        broker = image.brokers.get(broker_id)
        if broker is None or not broker.is_active or epoch not in (_UNKNOWN_EPOCH, broker.epoch):
            raise IneligibleReplica


def _result(
    index: int, partition: PartitionImage, record: PartitionChangeRecord | None
) -> ResponsePartitionData:
    """The partition as it will be.

    When the ISR completes a reassignment that takes the leader away, somebody else leads: then
    the leader is told to wait for its metadata, although all was done as it asked.
    """
    if record is None:
        record = PartitionChangeRecord()
    elected = record.leader != NO_LEADER_CHANGE
    if elected and record.leader != partition.leader:
        return ResponsePartitionData(partition_index=index, error_code=ErrorCode.NEW_LEADER_ELECTED)
    recovery, changed = record.leader_recovery_state, record != PartitionChangeRecord()
    return ResponsePartitionData(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch + elected,
        isr=list(partition.isr if record.isr is None else record.isr),
        leader_recovery_state=int(partition.recovering) if recovery < 0 else recovery,
        partition_epoch=partition.partition_epoch + changed,
    )

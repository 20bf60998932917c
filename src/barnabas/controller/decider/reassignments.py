"""AlterPartitionReassignments and ListPartitionReassignments: replicas move while a topic is used.

A partition that is on its way from some brokers to others has both: the *adding* ones copy, the
*removing* ones stay until all that are to remain are in sync.  The ISR change that makes it so
also ends it (`elections.finished`).

A reassignment can be replaced by another at any time, or cancelled.  Replicas that were only being
added are then dropped at once: what counts as the original is what was there before the first one
began (KIP-455).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    InvalidReplicaAssignment,
    InvalidRequest,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.controller.decider.assignments import check_assignment
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import Elections, Wish
from barnabas.controller.image_types import PartitionImage, TopicImage
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message


# Alter


def decide(
    image: ClusterImage, request: AlterPartitionReassignmentsRequest, now_ms: int, env: Environment
) -> Decision:
    """Each partition by itself; all that are accepted, in one run."""
    elections = Elections(image, env)
    seen: set[tuple[str, int]] = set()
    records: list[Message] = []
    topics = []
    for asked in request.topics:
        results = []
        for partition in asked.partitions:
            index = partition.partition_index
            result = ReassignablePartitionResponse(partition_index=index, error_message=None)
            try:
                if (asked.name, index) in seen:
                    raise InvalidRequest("The partition is named more than once.")
                seen.add((asked.name, index))
                topic = _find(image, asked.name, index)
                wish = (
                    _cancel(topic, index, elections)
                    if partition.replicas is None
                    else _change(image, topic.partitions[index], partition.replicas)
                )
            except ApiError as error:
                result.error_code = int(code_for(error))
                result.error_message = error.message
            else:
                record = elections.plan(topic, index, wish)
                if record is not None:
                    records.append(record)
            results.append(result)
        topics.append(ReassignableTopicResponse(name=asked.name, partitions=results))
    return Decision(
        records=tuple(records),
        response=AlterPartitionReassignmentsResponse(error_message=None, responses=topics),
    )


def refuse(
    request: AlterPartitionReassignmentsRequest, error: Exception
) -> AlterPartitionReassignmentsResponse:
    """The answer when nothing of the request could be done: said of the whole and of each."""
    code, message = code_for(error), error.message if isinstance(error, ApiError) else None
    return AlterPartitionReassignmentsResponse(
        error_code=code,
        error_message=message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=partition.partition_index,
                        error_code=code,
                        error_message=message,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _find(image: ClusterImage, name: str, index: int) -> TopicImage:
    topic = image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    if not 0 <= index < len(topic.partitions):
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{index}.")
    return topic


def _change(image: ClusterImage, partition: PartitionImage, target: Sequence[int]) -> Wish:
    """Bring the partition to exactly these brokers, in this order."""
    check_assignment(image, target, None)
    old = [r for r in partition.replicas if r not in partition.adding]
    removing = sorted(set(old) - set(target))
    isr = tuple(r for r in partition.isr if r in target or r in removing)
    if not isr:
        # Only replicas that are not wanted any more have the data: they go last.
        isr = partition.isr
        removing = sorted(set(partition.replicas) - set(target))
    return Wish(
        replicas=(*target, *removing),
        adding=tuple(sorted(set(target) - set(old))),
        removing=tuple(removing),
        isr=isr,
    )


def _cancel(topic: TopicImage, index: int, elections: Elections) -> Wish:
    """Back to the replicas that were there before."""
    partition = topic.partitions[index]
    if not partition.adding and not partition.removing:
        raise NoReassignmentInProgress
    replicas = tuple(r for r in partition.replicas if r not in partition.adding)
    isr = tuple(r for r in partition.isr if r not in partition.adding)
    if not isr:
        if not elections.rules.allows_unclean(topic):
            raise InvalidReplicaAssignment(
                f"Unable to revert partition assignment for {topic.name}:{index} because it would "
                "require an unclean leader election."
            )
        return Wish(replicas=replicas, isr=replicas[:1], adding=(), removing=(), recovering=True)
    return Wish(replicas=replicas, isr=isr, adding=(), removing=())


# List


def decide_list(
    image: ClusterImage, request: ListPartitionReassignmentsRequest, now_ms: int, env: Environment
) -> Decision:
    """What is on its way now, of the named partitions or of all; changes nothing."""
    wanted: list[tuple[TopicImage, Sequence[int]]]
    if request.topics is None:
        wanted = [(topic, range(len(topic.partitions))) for topic in image.topics.values()]
    else:
        wanted = [
            (topic, asked.partition_indexes)
            for asked in request.topics
            if (topic := image.topics.get(asked.name)) is not None
        ]
    topics = [
        OngoingTopicReassignment(name=topic.name, partitions=ongoing)
        for topic, indexes in wanted
        if (ongoing := _ongoing(topic, indexes))
    ]
    return Decision(response=ListPartitionReassignmentsResponse(error_message=None, topics=topics))


def refuse_list(
    request: ListPartitionReassignmentsRequest, error: Exception
) -> ListPartitionReassignmentsResponse:
    """The answer when nobody could look."""
    message = error.message if isinstance(error, ApiError) else None
    return ListPartitionReassignmentsResponse(error_code=code_for(error), error_message=message)


def _ongoing(topic: TopicImage, indexes: Sequence[int]) -> list[OngoingPartitionReassignment]:
    found = []
    for index in indexes:
        if 0 <= index < len(topic.partitions):
            partition = topic.partitions[index]
            if partition.adding or partition.removing:
                found.append(
                    OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(partition.replicas),
                        adding_replicas=list(partition.adding),
                        removing_replicas=list(partition.removing),
                    )
                )
    return found

"""CreatePartitions: a topic gets more partitions, never fewer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidRequest,
    PolicyViolation,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.controller.decider.assignments import (
    assigned_partition,
    check_assignment,
    placed_partitions,
)
from barnabas.controller.decider.decision import (
    PARTITIONS_PER_REQUEST_MAX,
    Decision,
    Environment,
)
from barnabas.controller.image_dump import partition_record
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, PartitionImage, TopicImage
    from barnabas.protocol.message import Message


def decide(
    image: ClusterImage, request: CreatePartitionsRequest, now_ms: int, env: Environment
) -> Decision:
    """Each topic by itself; one that is named twice is refused, once."""
    counts = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results = []
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if counts[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            made = _create(image, topic, env)
            if len(records) + len(made) > PARTITIONS_PER_REQUEST_MAX:
                raise _too_many()
        except ApiError as error:
            results.append(_result(topic.name, error))
        else:
            records += made
            results.append(CreatePartitionsTopicResult(name=topic.name))
    return Decision(
        records=() if request.validate_only else tuple(records),
        response=CreatePartitionsResponse(results=results),
    )


def refuse(request: CreatePartitionsRequest, error: Exception) -> CreatePartitionsResponse:
    """The answer when nothing of the request could be done."""
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreatePartitionsResponse(results=[_result(name, error) for name in names])


def _result(name: str, error: Exception) -> CreatePartitionsTopicResult:
    message = (error.message or None) if isinstance(error, ApiError) else None
    return CreatePartitionsTopicResult(name=name, error_code=code_for(error), error_message=message)


def _too_many() -> PolicyViolation:
    return PolicyViolation("Excessively large number of partitions per request.")


def _create(image: ClusterImage, request: CreatePartitionsTopic, env: Environment) -> list[Message]:
    topic = image.topics.get(request.name)
    if topic is None:
        raise UnknownTopicOrPartition("")  # the one refusal that Kafka does not explain
    count = len(topic.partitions)
    if request.count == count:
        raise InvalidPartitions(f"Topic already has {count} partition(s).")
    if request.count < count:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {count} partition(s); {request.count} would "
            "not be an increase."
        )
    additional = request.count - count
    if additional > PARTITIONS_PER_REQUEST_MAX:
        raise _too_many()
    if request.assignments is None:
        partitions = placed_partitions(image, additional, topic.replication_factor, env.random)
    else:
        partitions = _assigned(image, topic, request, additional)
    return [partition_record(topic.id, count + i, p) for i, p in enumerate(partitions)]


def _assigned(
    image: ClusterImage, topic: TopicImage, request: CreatePartitionsTopic, additional: int
) -> list[PartitionImage]:
    assignments = request.assignments or []
    if len(assignments) != additional:
        raise InvalidReplicaAssignment(
            f"Attempted to add {additional} additional partition(s), but only {len(assignments)} "
            "assignment(s) were specified."
        )
    for assignment in assignments:
        check_assignment(image, assignment.broker_ids, topic.replication_factor)
    first = len(topic.partitions)
    return [
        assigned_partition(image, first + index, assignment.broker_ids)
        for index, assignment in enumerate(assignments)
    ]

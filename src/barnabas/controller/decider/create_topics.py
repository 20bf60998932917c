"""CreateTopics: each topic by itself is created or refused; all that are, in one run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ErrorCode,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    PolicyViolation,
    TopicAlreadyExists,
    code_for,
)
from barnabas.base.settings import describe_topic
from barnabas.controller.decider.assignments import (
    assigned_partition,
    check_assignment,
    placed_partitions,
)
from barnabas.controller.decider.config_rules import check_topic_config
from barnabas.controller.decider.decision import (
    PARTITIONS_PER_REQUEST_MAX,
    Decision,
    Environment,
)
from barnabas.controller.decider.names import METADATA_TOPIC, check_collision, check_name
from barnabas.controller.image_dump import partition_record
from barnabas.controller.image_types import PartitionImage, ResourceType
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.metadata_records import ConfigRecord, TopicRecord

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message


def decide(
    image: ClusterImage, request: CreateTopicsRequest, now_ms: int, env: Environment
) -> Decision:
    """A topic that is asked for twice in one request is refused, once."""
    counts = Counter(topic.name for topic in request.topics)
    single = [topic for topic in request.topics if counts[topic.name] == 1]
    records: list[Message] = []
    results = []
    too_many = _partitions_asked_for(single, env) > PARTITIONS_PER_REQUEST_MAX
    for topic in single:
        try:
            if too_many:
                raise PolicyViolation("Excessively large number of partitions per request.")
            made, result = _create(image, topic, env)
        except ApiError as error:
            result = _refused(topic.name, error)
        else:
            records += made
        results.append(result)
    duplicate = InvalidRequest("Duplicate topic name.")
    results += [_refused(name, duplicate) for name, count in counts.items() if count > 1]
    return Decision(
        records=() if request.validate_only else tuple(records),
        response=CreateTopicsResponse(topics=results),
    )


def refuse(request: CreateTopicsRequest, error: Exception) -> CreateTopicsResponse:
    """The answer when nothing of the request could be done."""
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreateTopicsResponse(topics=[_refused(name, error) for name in names])


def _refused(name: str, error: Exception) -> CreatableTopicResult:
    message = error.message if isinstance(error, ApiError) else None
    return CreatableTopicResult(name=name, error_code=code_for(error), error_message=message)


def _partitions_asked_for(topics: list[CreatableTopic], env: Environment) -> int:
    default = env.config.int("num.partitions")
    return sum(
        len(topic.assignments) or (default if topic.num_partitions == -1 else topic.num_partitions)
        for topic in topics
        if topic.assignments or topic.num_partitions >= -1
    )


def _create(
    image: ClusterImage, topic: CreatableTopic, env: Environment
) -> tuple[list[Message], CreatableTopicResult]:
    """The records of one topic, in the order in which Kafka writes them, and its result."""
    if topic.name == METADATA_TOPIC:
        raise InvalidRequest(f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    check_name(topic.name)
    if topic.name in image.topics:
        raise TopicAlreadyExists(f"Topic '{topic.name}' already exists.")
    check_collision(image, topic.name)
    config = _config(image, topic, env)
    partitions = _partitions(image, topic, env)
    topic_id = env.new_id()
    while topic_id in image.topics_by_id:  # a random source that was started again
        topic_id = env.new_id()
    records: list[Message] = [TopicRecord(name=topic.name, topic_id=topic_id)]
    records += (
        ConfigRecord(
            resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value
        )
        for name, value in config.items()
    )
    records += (partition_record(topic_id, i, p) for i, p in enumerate(partitions))
    result = CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
        configs=_described(image, config, env),
    )
    return records, result


def _config(image: ClusterImage, topic: CreatableTopic, env: Environment) -> dict[str, str]:
    """The topic's own settings; of a name that is given twice, the last counts."""
    config: dict[str, str] = {}
    for entry in topic.configs:
        if entry.value is None:
            raise InvalidConfig(f"Null value not supported for topic configs: {entry.name}")
        config[entry.name] = entry.value
    check_topic_config(env.effective_config(image), config, config)
    return config


def _partitions(
    image: ClusterImage, topic: CreatableTopic, env: Environment
) -> list[PartitionImage]:
    if topic.assignments:
        return _assigned(image, topic)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise InvalidReplicationFactor(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    count, factor = topic.num_partitions, topic.replication_factor
    return placed_partitions(
        image,
        env.config.int("num.partitions") if count == -1 else count,
        env.config.int("default.replication.factor") if factor == -1 else factor,
        env.random,
    )


def _assigned(image: ClusterImage, topic: CreatableTopic) -> list[PartitionImage]:
    """Partitions where the request wants them."""
    if topic.replication_factor != -1:
        raise InvalidRequest(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if topic.num_partitions != -1:
        raise InvalidRequest(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    found: dict[int, PartitionImage] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in found:
            raise InvalidReplicaAssignment(
                f"Found multiple manual partition assignments for partition {index}"
            )
        check_assignment(image, assignment.broker_ids, factor)
        factor = len(assignment.broker_ids)
        found[index] = assigned_partition(image, index, assignment.broker_ids)
    if sorted(found) != list(range(len(found))):
        raise InvalidReplicaAssignment(
            "partitions should be a consecutive 0-based integer sequence"
        )
    return [found[index] for index in range(len(found))]


def _described(
    image: ClusterImage, config: dict[str, str], env: Environment
) -> list[CreatableTopicConfigs]:
    """All settings that the new topic goes by, by name."""
    described = describe_topic(env.effective_config(image), config)
    return [
        CreatableTopicConfigs(
            name=setting.name,
            value=None if setting.sensitive else setting.value,
            read_only=setting.read_only,
            config_source=setting.source,
            is_sensitive=setting.sensitive,
        )
        for setting in sorted(described, key=lambda setting: setting.name)
    ]

"""CreateTopics, API 19: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    Uuid,
    ignorable,
    since,
    tag,
)


class CreatableReplicaAssignment(Struct):
    partition_index: Int32 = 0
    broker_ids: list[Int32] = []


class CreatableTopicConfig(Struct):
    name: String = ""
    value: NullableString = ""


class CreatableTopic(Struct):
    name: String = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []


class CreateTopicsRequest(Message, api_key=19, versions="0-7", flexible="5+"):
    """Creates topics, or only checks whether they could be created.

    v1: `validate_only`.  v4: -1 for the broker's default counts (KIP-464).  v5: flexible; the
    answer holds the topic's configuration (KIP-525).  v7: topic ids in the answer (KIP-516).
    """

    topics: list[CreatableTopic] = []
    timeout_ms: Int32 = 60000
    validate_only: Annotated[Bool, since(1)] = False


class CreatableTopicConfigs(Struct):
    name: String = ""
    value: NullableString = ""
    read_only: Bool = False
    config_source: Int8 = -1
    is_sensitive: Bool = False


class CreatableTopicResult(Struct):
    name: String = ""
    topic_id: Annotated[Uuid, since(7), ignorable] = NO_UUID
    error_code: Int16 = 0
    error_message: Annotated[NullableString, since(1), ignorable] = ""
    topic_config_error_code: Annotated[Int16, since(5), tag(0), ignorable] = 0
    num_partitions: Annotated[Int32, since(5), ignorable] = -1
    replication_factor: Annotated[Int16, since(5), ignorable] = -1
    configs: Annotated[list[CreatableTopicConfigs] | None, since(5), ignorable] = []


class CreateTopicsResponse(Message, api_key=19, versions="0-7", flexible="5+"):
    throttle_time_ms: Annotated[Int32, since(2), ignorable] = 0
    topics: list[CreatableTopicResult] = []

"""Metadata, API 3: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bool,
    Int16,
    Int32,
    NullableString,
    String,
    Uuid,
    ignorable,
    nullable_since,
    since,
    until,
)


class MetadataRequestTopic(Struct):
    topic_id: Annotated[Uuid, since(10), ignorable] = NO_UUID
    name: Annotated[NullableString, nullable_since(10)] = ""


class MetadataRequest(Message, api_key=3, versions="0-13", flexible="9+"):
    """Brokers, controller, and the leaders and replicas of topics.

    Null topics mean all of them, an empty list none (before v1 an empty list meant all).
    v1: controller, racks, internal flag.  v2: cluster id (KIP-78).  v4: whether to create
    missing topics.  v5: offline replicas (KIP-112).  v7: leader epochs.  v8: authorized
    operations (KIP-430).  v9: flexible.  v10: topic ids (KIP-516).  v11: the cluster's
    operations moved to DescribeCluster (KIP-700).  v12: look-up by topic id alone.  v13: an
    error code for the whole answer (KIP-1102).
    """

    topics: Annotated[list[MetadataRequestTopic] | None, nullable_since(1)] = []
    allow_auto_topic_creation: Annotated[Bool, since(4)] = True
    include_cluster_authorized_operations: Annotated[Bool, since(8), until(10)] = False
    include_topic_authorized_operations: Annotated[Bool, since(8)] = False


class MetadataResponseBroker(Struct):
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: Annotated[NullableString, since(1), ignorable] = None


class MetadataResponsePartition(Struct):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Annotated[Int32, since(7), ignorable] = -1
    replica_nodes: list[Int32] = []
    isr_nodes: list[Int32] = []
    offline_replicas: Annotated[list[Int32], since(5), ignorable] = []


class MetadataResponseTopic(Struct):
    error_code: Int16 = 0
    name: Annotated[NullableString, nullable_since(12)] = ""
    topic_id: Annotated[Uuid, since(10), ignorable] = NO_UUID
    is_internal: Annotated[Bool, since(1), ignorable] = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: Annotated[Int32, since(8)] = -2147483648


class MetadataResponse(Message, api_key=3, versions="0-13", flexible="9+"):
    throttle_time_ms: Annotated[Int32, since(3), ignorable] = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: Annotated[NullableString, since(2), ignorable] = None
    controller_id: Annotated[Int32, since(1), ignorable] = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: Annotated[Int32, since(8), until(10)] = -2147483648
    error_code: Annotated[Int16, since(13), ignorable] = 0

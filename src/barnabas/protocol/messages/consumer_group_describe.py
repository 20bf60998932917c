"""ConsumerGroupDescribe, API 69: request and response."""

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
    fresh,
    ignorable,
    since,
)


class ConsumerGroupDescribeRequest(Message, api_key=69, versions="0-1", flexible="0+"):
    """State and members of groups of the newer protocol (KIP-848).

    v1: whether a member speaks the classic or the newer protocol (KIP-1099).
    """

    group_ids: list[String] = []
    include_authorized_operations: Bool = False


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    topic_name: String = ""
    partitions: list[Int32] = []


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []


class Member(Struct):
    member_id: String = ""
    instance_id: NullableString = None
    rack_id: NullableString = None
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = []
    subscribed_topic_regex: NullableString = None
    assignment: Assignment = fresh(Assignment)
    target_assignment: Assignment = fresh(Assignment)
    member_type: Annotated[Int8, since(1), ignorable] = -1


class DescribedGroup(Struct):
    error_code: Int16 = 0
    error_message: NullableString = None
    group_id: String = ""
    group_state: String = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: String = ""
    members: list[Member] = []
    authorized_operations: Int32 = -2147483648


class ConsumerGroupDescribeResponse(Message, api_key=69, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []

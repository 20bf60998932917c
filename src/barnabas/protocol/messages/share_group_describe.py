"""ShareGroupDescribe, API 77: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Bool, Int16, Int32, NullableString, String, Uuid, fresh


class ShareGroupDescribeRequest(Message, api_key=77, versions="0", flexible="0+"):
    """State and members of share groups (KIP-932)."""

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
    rack_id: NullableString = None
    member_epoch: Int32 = 0
    client_id: String = ""
    client_host: String = ""
    subscribed_topic_names: list[String] = []
    assignment: Assignment = fresh(Assignment)


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


class ShareGroupDescribeResponse(Message, api_key=77, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []

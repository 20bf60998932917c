"""ShareGroupHeartbeat, API 76: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, NullableString, String, Uuid


class ShareGroupHeartbeatRequest(Message, api_key=76, versions="0", flexible="0+"):
    """A member of a share group joins, stays or leaves (KIP-932)."""

    group_id: String = ""
    member_id: String = ""
    member_epoch: Int32 = 0
    rack_id: NullableString = None
    subscribed_topic_names: list[String] | None = None


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []


class ShareGroupHeartbeatResponse(Message, api_key=76, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    member_id: NullableString = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None

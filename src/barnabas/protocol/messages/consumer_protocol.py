"""x"""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int32, NullableBytes, NullableString, String, ignorable, since


class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: String = ""
    partitions: list[Int32] = []


class ConsumerProtocolSubscription(Message, versions="0-3", flexible="none"):
    topics: list[String] = []
    user_data: NullableBytes = None
    owned_partitions: Annotated[
        list[ConsumerProtocolSubscriptionTopicPartition], since(1), ignorable
    ] = []
    generation_id: Annotated[Int32, since(2), ignorable] = -1
    rack_id: Annotated[NullableString, since(3), ignorable] = None


class ConsumerProtocolAssignmentTopicPartition(Struct):
    topic: String = ""
    partitions: list[Int32] = []


class ConsumerProtocolAssignment(Message, versions="0-3", flexible="none"):
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = []
    user_data: NullableBytes = None

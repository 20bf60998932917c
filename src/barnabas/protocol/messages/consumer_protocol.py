"""What members of a classic consumer group tell each other through the coordinator."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int32, NullableBytes, NullableString, String, ignorable, since


class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: String = ""
    partitions: list[Int32] = []


class ConsumerProtocolSubscription(Message, versions="0-3", flexible="none"):
    """A member's subscription, the metadata of JoinGroup.

    v1: partitions that it owns (KIP-429).  v2: generation (KIP-792).  v3: rack (KIP-881).
    """

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
    """A member's partitions, the assignment of SyncGroup."""

    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = []
    user_data: NullableBytes = None

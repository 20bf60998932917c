"""ElectLeaders, API 43: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, NullableString, String, since


class TopicPartitions(Struct):
    topic: String = ""
    partitions: list[Int32] = []


class ElectLeadersRequest(Message, api_key=43, versions="0-2", flexible="2+"):
    """Elects preferred or, on demand, unclean leaders.

    v1: the type of election (KIP-460).  v2: flexible.
    """

    election_type: Annotated[Int8, since(1)] = 0
    topic_partitions: list[TopicPartitions] | None = []
    timeout_ms: Int32 = 60000


class PartitionResult(Struct):
    partition_id: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""


class ReplicaElectionResult(Struct):
    topic: String = ""
    partition_result: list[PartitionResult] = []


class ElectLeadersResponse(Message, api_key=43, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(1)] = 0
    replica_election_results: list[ReplicaElectionResult] = []

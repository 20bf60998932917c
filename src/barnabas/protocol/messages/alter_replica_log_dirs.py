"""AlterReplicaLogDirs, API 34: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, String


class AlterReplicaLogDirTopic(Struct):
    name: String = ""
    partitions: list[Int32] = []


class AlterReplicaLogDir(Struct):
    path: String = ""
    topics: list[AlterReplicaLogDirTopic] = []


class AlterReplicaLogDirsRequest(Message, api_key=34, versions="0-2", flexible="2+"):
    """Moves replicas to other log directories of their broker (KIP-113).  v2: flexible."""

    dirs: list[AlterReplicaLogDir] = []


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: String = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = []


class AlterReplicaLogDirsResponse(Message, api_key=34, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = 0
    results: list[AlterReplicaLogDirTopicResult] = []

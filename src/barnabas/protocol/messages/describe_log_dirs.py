"""DescribeLogDirs, API 35: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int16, Int32, Int64, String, ignorable, since


class DescribableLogDirTopic(Struct):
    topic: String = ""
    partitions: list[Int32] = []


class DescribeLogDirsRequest(Message, api_key=35, versions="0-4", flexible="2+"):
    """Log directories with the size of each replica in them (KIP-113).

    v2: flexible.  v3: a code for the whole answer.  v4: size and free space of the volume
    (KIP-827).
    """

    topics: list[DescribableLogDirTopic] | None = []


class DescribeLogDirsPartition(Struct):
    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: Bool = False


class DescribeLogDirsTopic(Struct):
    name: String = ""
    partitions: list[DescribeLogDirsPartition] = []


class DescribeLogDirsResult(Struct):
    error_code: Int16 = 0
    log_dir: String = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: Annotated[Int64, since(4), ignorable] = -1
    usable_bytes: Annotated[Int64, since(4), ignorable] = -1


class DescribeLogDirsResponse(Message, api_key=35, versions="0-4", flexible="2+"):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(3), ignorable] = 0
    results: list[DescribeLogDirsResult] = []

"""DescribeCluster, API 60: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int8, Int16, Int32, NullableString, String, since


class DescribeClusterRequest(Message, api_key=60, versions="0-2", flexible="0+"):
    """Cluster id, controller and brokers (KIP-700).

    v1: may be asked of controllers (KIP-919).  v2: fenced brokers too (KIP-1073).
    """

    include_cluster_authorized_operations: Bool = False
    endpoint_type: Annotated[Int8, since(1)] = 1
    include_fenced_brokers: Annotated[Bool, since(2)] = False


class DescribeClusterBroker(Struct):
    broker_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None
    is_fenced: Annotated[Bool, since(2)] = False


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    endpoint_type: Annotated[Int8, since(1)] = 1
    cluster_id: String = ""
    controller_id: Int32 = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: Int32 = -2147483648

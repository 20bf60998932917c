"""ListClientMetricsResources, API 74: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, String, ignorable, since


class ListClientMetricsResourcesRequest(Message, api_key=74, versions="0-1", flexible="0+"):
    """Names of the configured metric subscriptions of clients (KIP-1000).

    v1: of whatever else has settings, by type (KIP-1142); Kafka calls it ListConfigResources since.
    """

    resource_types: Annotated[list[Int8], since(1)] = []


class ClientMetricsResource(Struct):
    name: String = ""
    resource_type: Annotated[Int8, since(1), ignorable] = 16


class ListClientMetricsResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    client_metrics_resources: list[ClientMetricsResource] = []

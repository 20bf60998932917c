"""ListClientMetricsResources, API 74: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, String


class ListClientMetricsResourcesRequest(Message, api_key=74, versions="0", flexible="0+"):
    """Names of the configured metric subscriptions of clients (KIP-1000)."""


class ClientMetricsResource(Struct):
    name: String = ""


class ListClientMetricsResourcesResponse(Message, api_key=74, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    client_metrics_resources: list[ClientMetricsResource] = []

"""GetTelemetrySubscriptions, API 71: request and response."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import NO_UUID, Bool, Int8, Int16, Int32, String, Uuid


class GetTelemetrySubscriptionsRequest(Message, api_key=71, versions="0", flexible="0+"):
    """Which metrics should a client push, and how often (KIP-714)?"""

    client_instance_id: Uuid = NO_UUID


class GetTelemetrySubscriptionsResponse(Message, api_key=71, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    client_instance_id: Uuid = NO_UUID
    subscription_id: Int32 = 0
    accepted_compression_types: list[Int8] = []
    push_interval_ms: Int32 = 0
    telemetry_max_bytes: Int32 = 0
    delta_temporality: Bool = False
    requested_metrics: list[String] = []

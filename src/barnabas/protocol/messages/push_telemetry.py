"""PushTelemetry, API 72: request and response."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import NO_UUID, Bool, Bytes, Int8, Int16, Int32, Uuid


class PushTelemetryRequest(Message, api_key=72, versions="0", flexible="0+"):
    """A client pushes its metrics (KIP-714)."""

    client_instance_id: Uuid = NO_UUID
    subscription_id: Int32 = 0
    terminating: Bool = False
    compression_type: Int8 = 0
    metrics: Bytes = b""


class PushTelemetryResponse(Message, api_key=72, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0

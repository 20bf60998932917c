"""ControllerRegistration, API 70: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bool,
    Int16,
    Int32,
    NullableString,
    String,
    Uint16,
    Uuid,
)


class Listener(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class Feature(Struct):
    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


class ControllerRegistrationRequest(Message, api_key=70, versions="0", flexible="0+"):
    """A controller makes itself and its listeners known (KIP-919)."""

    controller_id: Int32 = 0
    incarnation_id: Uuid = NO_UUID
    zk_migration_ready: Bool = False
    listeners: list[Listener] = []
    features: list[Feature] = []


class ControllerRegistrationResponse(Message, api_key=70, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""

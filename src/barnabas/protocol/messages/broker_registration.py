"""BrokerRegistration, API 62: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bool,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uint16,
    Uuid,
    ignorable,
    since,
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


class BrokerRegistrationRequest(Message, api_key=62, versions="0-4", flexible="0+"):
    """A broker registers with the controller at its start (KIP-631).

    v1: migration (KIP-866).  v2: log directories (KIP-858).  v3: levels from 0 (KIP-1022).  v4:
    epoch of a clean shutdown (KIP-966).
    """

    broker_id: Int32 = 0
    cluster_id: String = ""
    incarnation_id: Uuid = NO_UUID
    listeners: list[Listener] = []
    features: list[Feature] = []
    rack: NullableString = ""
    is_migrating_zk_broker: Annotated[Bool, since(1)] = False
    log_dirs: Annotated[list[Uuid], since(2), ignorable] = []
    previous_broker_epoch: Annotated[Int64, since(3), ignorable] = -1


class BrokerRegistrationResponse(Message, api_key=62, versions="0-4", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    broker_epoch: Int64 = -1

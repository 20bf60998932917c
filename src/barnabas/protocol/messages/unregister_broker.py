"""UnregisterBroker, API 64: request and response."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, Int32, NullableString


class UnregisterBrokerRequest(Message, api_key=64, versions="0", flexible="0+"):
    """Removes the registration of a broker for good (KIP-631)."""

    broker_id: Int32 = 0


class UnregisterBrokerResponse(Message, api_key=64, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""

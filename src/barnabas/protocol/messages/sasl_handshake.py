"""SaslHandshake, API 17: request and response."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, String


class SaslHandshakeRequest(Message, api_key=17, versions="0-1", flexible="none"):
    """Chooses the SASL mechanism.  v1: SaslAuthenticate requests follow (KIP-152)."""

    mechanism: String = ""


class SaslHandshakeResponse(Message, api_key=17, versions="0-1", flexible="none"):
    error_code: Int16 = 0
    mechanisms: list[String] = []

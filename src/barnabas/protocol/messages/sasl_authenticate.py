"""SaslAuthenticate, API 36: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bytes, Int16, Int64, NullableString, ignorable, secret, since


class SaslAuthenticateRequest(Message, api_key=36, versions="0-2", flexible="2+"):
    """Carries the bytes of a SASL exchange.

    v1: the answer tells how long the session lasts (KIP-368).  v2: flexible.
    """

    auth_bytes: Annotated[Bytes, secret] = b""


class SaslAuthenticateResponse(Message, api_key=36, versions="0-2", flexible="2+"):
    error_code: Int16 = 0
    error_message: NullableString = ""
    auth_bytes: Annotated[Bytes, secret] = b""
    session_lifetime_ms: Annotated[Int64, since(1), ignorable] = 0

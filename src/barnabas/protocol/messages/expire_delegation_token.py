"""ExpireDelegationToken, API 40: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bytes, Int16, Int32, Int64, secret


class ExpireDelegationTokenRequest(Message, api_key=40, versions="0-2", flexible="2+"):
    """Ends a token now or later (KIP-48).  v2: flexible."""

    hmac: Annotated[Bytes, secret] = b""
    expiry_time_period_ms: Int64 = 0


class ExpireDelegationTokenResponse(Message, api_key=40, versions="0-2", flexible="2+"):
    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0

"""RenewDelegationToken, API 39: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bytes, Int16, Int32, Int64, secret


class RenewDelegationTokenRequest(Message, api_key=39, versions="0-2", flexible="2+"):
    """Prolongs a token (KIP-48).  v2: flexible."""

    hmac: Annotated[Bytes, secret] = b""
    renew_period_ms: Int64 = 0


class RenewDelegationTokenResponse(Message, api_key=39, versions="0-2", flexible="2+"):
    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0

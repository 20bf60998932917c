"""DescribeDelegationToken, API 41: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bytes, Int16, Int32, Int64, String, secret, since


class DescribeDelegationTokenOwner(Struct):
    principal_type: String = ""
    principal_name: String = ""


class DescribeDelegationTokenRequest(Message, api_key=41, versions="0-3", flexible="2+"):
    """Tokens of some owners, or all of them (KIP-48).

    v2: flexible.  v3: who asked for it (KIP-373).
    """

    owners: list[DescribeDelegationTokenOwner] | None = []


class DescribedDelegationTokenRenewer(Struct):
    principal_type: String = ""
    principal_name: String = ""


class DescribedDelegationToken(Struct):
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: Annotated[String, since(3)] = ""
    token_requester_principal_name: Annotated[String, since(3)] = ""
    issue_timestamp: Int64 = 0
    expiry_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    token_id: String = ""
    hmac: Annotated[Bytes, secret] = b""
    renewers: list[DescribedDelegationTokenRenewer] = []


class DescribeDelegationTokenResponse(Message, api_key=41, versions="0-3", flexible="2+"):
    error_code: Int16 = 0
    tokens: list[DescribedDelegationToken] = []
    throttle_time_ms: Int32 = 0

"""CreateDelegationToken, API 38: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Bytes,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    secret,
    since,
)


class CreatableRenewers(Struct):
    principal_type: String = ""
    principal_name: String = ""


class CreateDelegationTokenRequest(Message, api_key=38, versions="0-3", flexible="2+"):
    """Issues a token with which others can log in (KIP-48).

    v2: flexible.  v3: for another owner (KIP-373).
    """

    owner_principal_type: Annotated[NullableString, since(3)] = ""
    owner_principal_name: Annotated[NullableString, since(3)] = ""
    renewers: list[CreatableRenewers] = []
    max_lifetime_ms: Int64 = 0


class CreateDelegationTokenResponse(Message, api_key=38, versions="0-3", flexible="2+"):
    error_code: Int16 = 0
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: Annotated[String, since(3)] = ""
    token_requester_principal_name: Annotated[String, since(3)] = ""
    issue_timestamp_ms: Int64 = 0
    expiry_timestamp_ms: Int64 = 0
    max_timestamp_ms: Int64 = 0
    token_id: String = ""
    hmac: Annotated[Bytes, secret] = b""
    throttle_time_ms: Int32 = 0

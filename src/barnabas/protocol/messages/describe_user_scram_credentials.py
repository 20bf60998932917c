"""DescribeUserScramCredentials, API 50: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, NullableString, String


class UserName(Struct):
    name: String = ""


class DescribeUserScramCredentialsRequest(Message, api_key=50, versions="0", flexible="0+"):
    """Which SCRAM mechanisms users have, without the secrets (KIP-554)."""

    users: list[UserName] | None = []


class CredentialInfo(Struct):
    mechanism: Int8 = 0
    iterations: Int32 = 0


class DescribeUserScramCredentialsResult(Struct):
    user: String = ""
    error_code: Int16 = 0
    error_message: NullableString = ""
    credential_infos: list[CredentialInfo] = []


class DescribeUserScramCredentialsResponse(Message, api_key=50, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    results: list[DescribeUserScramCredentialsResult] = []

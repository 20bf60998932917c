"""AlterUserScramCredentials, API 51: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bytes, Int8, Int16, Int32, NullableString, String, secret


class ScramCredentialDeletion(Struct):
    name: String = ""
    mechanism: Int8 = 0


class ScramCredentialUpsertion(Struct):
    name: String = ""
    mechanism: Int8 = 0
    iterations: Int32 = 0
    salt: Annotated[Bytes, secret] = b""
    salted_password: Annotated[Bytes, secret] = b""


class AlterUserScramCredentialsRequest(Message, api_key=51, versions="0", flexible="0+"):
    """Sets or removes SCRAM credentials; passwords travel salted (KIP-554)."""

    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []


class AlterUserScramCredentialsResult(Struct):
    user: String = ""
    error_code: Int16 = 0
    error_message: NullableString = ""


class AlterUserScramCredentialsResponse(Message, api_key=51, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    results: list[AlterUserScramCredentialsResult] = []

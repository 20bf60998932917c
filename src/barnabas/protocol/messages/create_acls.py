"""CreateAcls, API 30: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, NullableString, String, since


class AclCreation(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    resource_pattern_type: Annotated[Int8, since(1)] = 3
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class CreateAclsRequest(Message, api_key=30, versions="0-3", flexible="2+"):
    """Adds ACLs.

    v1: patterns of names (KIP-290).  v2: flexible.  v3: users as resources (KIP-373).
    """

    creations: list[AclCreation] = []


class AclCreationResult(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""


class CreateAclsResponse(Message, api_key=30, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = 0
    results: list[AclCreationResult] = []

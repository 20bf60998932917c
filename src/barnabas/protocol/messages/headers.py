"""What stands before every request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, Int32, NullableString, ignorable, inflexible, since


class RequestHeader(Message, versions="0-2", flexible="2+"):
    """Before every request; `framing.read_request_header` reads it faster.

    v1: client id, in the old encoding in every version.  v2: tagged fields.
    """

    request_api_key: Int16 = 0
    request_api_version: Int16 = 0
    correlation_id: Int32 = 0
    client_id: Annotated[NullableString, since(1), ignorable, inflexible] = ""


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    """Before every response.  v1: tagged fields."""

    correlation_id: Int32 = 0

"""x"""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, Int32, NullableString, ignorable, inflexible, since


class RequestHeader(Message, versions="0-2", flexible="2+"):
    request_api_key: Int16 = 0
    request_api_version: Int16 = 0
    correlation_id: Int32 = 0
    client_id: Annotated[NullableString, since(1), ignorable, inflexible] = ""


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    correlation_id: Int32 = 0

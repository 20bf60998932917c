"""Envelope, API 58: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bytes, Int16, NullableBytes, secret


class EnvelopeRequest(Message, api_key=58, versions="0", flexible="0+"):
    """A broker passes an administrator's request on to the controller (KIP-590)."""

    request_data: Annotated[Bytes, secret] = b""
    request_principal: Annotated[NullableBytes, secret] = b""
    client_host_address: Bytes = b""


class EnvelopeResponse(Message, api_key=58, versions="0", flexible="0+"):
    response_data: Annotated[NullableBytes, secret] = None
    error_code: Int16 = 0

"""Heartbeat, API 12: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, Int32, NullableString, String, ignorable, since


class HeartbeatRequest(Message, api_key=12, versions="0-4", flexible="4+"):
    """A member of a classic group says that it is alive.

    v3: static members (KIP-345).  v4: flexible.
    """

    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: Annotated[NullableString, since(3)] = None


class HeartbeatResponse(Message, api_key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    error_code: Int16 = 0

"""SyncGroup, API 14: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bytes, Int16, Int32, NullableString, String, ignorable, since


class SyncGroupRequestAssignment(Struct):
    member_id: String = ""
    assignment: Bytes = b""


class SyncGroupRequest(Message, api_key=14, versions="0-5", flexible="4+"):
    """The leader of a classic group hands in the assignment; every member gets its part.

    v3: static members (KIP-345).  v4: flexible.  v5: protocol type and name are checked
    (KIP-559).
    """

    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: Annotated[NullableString, since(3)] = None
    protocol_type: Annotated[NullableString, since(5), ignorable] = None
    protocol_name: Annotated[NullableString, since(5), ignorable] = None
    assignments: list[SyncGroupRequestAssignment] = []


class SyncGroupResponse(Message, api_key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[NullableString, since(5), ignorable] = None
    protocol_name: Annotated[NullableString, since(5), ignorable] = None
    assignment: Bytes = b""

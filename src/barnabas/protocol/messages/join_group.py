"""JoinGroup, API 11: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Bool,
    Bytes,
    Int16,
    Int32,
    NullableString,
    String,
    ignorable,
    nullable_since,
    since,
)


class JoinGroupRequestProtocol(Struct):
    name: String = ""
    metadata: Bytes = b""


class JoinGroupRequest(Message, api_key=11, versions="0-9", flexible="6+"):
    """A member of a classic group joins a rebalance, or asks for its member id.

    v1: rebalance timeout apart from the session's.  v4: the member id is given out first
    (KIP-394).  v5: static members (KIP-345).  v6: flexible.  v7: protocol type in the answer
    (KIP-559).  v8: reason (KIP-800).  v9: the answer may skip the assignment (KIP-814).
    """

    group_id: String = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Annotated[Int32, since(1), ignorable] = -1
    member_id: String = ""
    group_instance_id: Annotated[NullableString, since(5)] = None
    protocol_type: String = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: Annotated[NullableString, since(8), ignorable] = None


class JoinGroupResponseMember(Struct):
    member_id: String = ""
    group_instance_id: Annotated[NullableString, since(5), ignorable] = None
    metadata: Bytes = b""


class JoinGroupResponse(Message, api_key=11, versions="0-9", flexible="6+"):
    throttle_time_ms: Annotated[Int32, since(2), ignorable] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[NullableString, since(7), ignorable] = None
    protocol_name: Annotated[NullableString, nullable_since(7)] = ""
    leader: String = ""
    skip_assignment: Annotated[Bool, since(9)] = False
    member_id: String = ""
    members: list[JoinGroupResponseMember] = []

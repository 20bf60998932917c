"""LeaveGroup, API 13: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, NullableString, String, ignorable, since, until


class MemberIdentity(Struct):
    member_id: String = ""
    group_instance_id: NullableString = None
    reason: Annotated[NullableString, since(5), ignorable] = None


class LeaveGroupRequest(Message, api_key=13, versions="0-5", flexible="4+"):
    """Members leave a classic group, so that it need not wait for their sessions to end.

    v3: several members, by static id too (KIP-345).  v4: flexible.  v5: reason (KIP-800).
    """

    group_id: String = ""
    member_id: Annotated[String, until(2)] = ""
    members: Annotated[list[MemberIdentity], since(3)] = []


class MemberResponse(Struct):
    member_id: String = ""
    group_instance_id: NullableString = ""
    error_code: Int16 = 0


class LeaveGroupResponse(Message, api_key=13, versions="0-5", flexible="4+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    error_code: Int16 = 0
    members: Annotated[list[MemberResponse], since(3)] = []

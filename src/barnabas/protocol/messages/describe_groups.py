"""DescribeGroups, API 15: request and response."""

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
    since,
)


class DescribeGroupsRequest(Message, api_key=15, versions="0-6", flexible="5+"):
    """State and members of classic groups.

    v3: authorized operations (KIP-430).  v4: static members (KIP-345).  v5: flexible.  v6: a
    message with the error, and GROUP_ID_NOT_FOUND (KIP-1043).
    """

    groups: list[String] = []
    include_authorized_operations: Annotated[Bool, since(3)] = False


class DescribedGroupMember(Struct):
    member_id: String = ""
    group_instance_id: Annotated[NullableString, since(4), ignorable] = None
    client_id: String = ""
    client_host: String = ""
    member_metadata: Bytes = b""
    member_assignment: Bytes = b""


class DescribedGroup(Struct):
    error_code: Int16 = 0
    error_message: Annotated[NullableString, since(6), ignorable] = None
    group_id: String = ""
    group_state: String = ""
    protocol_type: String = ""
    protocol_data: String = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: Annotated[Int32, since(3)] = -2147483648


class DescribeGroupsResponse(Message, api_key=15, versions="0-6", flexible="5+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    groups: list[DescribedGroup] = []

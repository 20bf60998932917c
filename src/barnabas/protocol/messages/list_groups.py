"""ListGroups, API 16: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, String, ignorable, since


class ListGroupsRequest(Message, api_key=16, versions="0-5", flexible="3+"):
    """The groups that a broker coordinates.

    v3: flexible.  v4: filter by state (KIP-518).  v5: filter by type (KIP-848).
    """

    states_filter: Annotated[list[String], since(4)] = []
    types_filter: Annotated[list[String], since(5)] = []


class ListedGroup(Struct):
    group_id: String = ""
    protocol_type: String = ""
    group_state: Annotated[String, since(4), ignorable] = ""
    group_type: Annotated[String, since(5), ignorable] = ""


class ListGroupsResponse(Message, api_key=16, versions="0-5", flexible="3+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    error_code: Int16 = 0
    groups: list[ListedGroup] = []

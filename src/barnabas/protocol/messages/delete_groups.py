"""DeleteGroups, API 42: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, String


class DeleteGroupsRequest(Message, api_key=42, versions="0-2", flexible="2+"):
    """Removes empty groups with their offsets.  v2: flexible."""

    groups_names: list[String] = []


class DeletableGroupResult(Struct):
    group_id: String = ""
    error_code: Int16 = 0


class DeleteGroupsResponse(Message, api_key=42, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult] = []

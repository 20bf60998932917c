"""DeleteAcls, API 31: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, NullableString, String, since


class DeleteAclsFilter(Struct):
    resource_type_filter: Int8 = 0
    resource_name_filter: NullableString = ""
    pattern_type_filter: Annotated[Int8, since(1)] = 3
    principal_filter: NullableString = ""
    host_filter: NullableString = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DeleteAclsRequest(Message, api_key=31, versions="0-3", flexible="2+"):
    """Removes the ACLs that match filters.

    v1: patterns of names (KIP-290).  v2: flexible.  v3: users as resources (KIP-373).
    """

    filters: list[DeleteAclsFilter] = []


class DeleteAclsMatchingAcl(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Annotated[Int8, since(1)] = 3
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DeleteAclsFilterResult(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""
    matching_acls: list[DeleteAclsMatchingAcl] = []


class DeleteAclsResponse(Message, api_key=31, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = 0
    filter_results: list[DeleteAclsFilterResult] = []

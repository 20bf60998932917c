"""DescribeAcls, API 29: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, NullableString, String, since


class DescribeAclsRequest(Message, api_key=29, versions="0-3", flexible="2+"):
    """ACLs that match a filter.

    v1: patterns of names (KIP-290).  v2: flexible.  v3: users as resources (KIP-373).
    """

    resource_type_filter: Int8 = 0
    resource_name_filter: NullableString = ""
    pattern_type_filter: Annotated[Int8, since(1)] = 3
    principal_filter: NullableString = ""
    host_filter: NullableString = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class AclDescription(Struct):
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DescribeAclsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Annotated[Int8, since(1)] = 3
    acls: list[AclDescription] = []


class DescribeAclsResponse(Message, api_key=29, versions="0-3", flexible="2+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    resources: list[DescribeAclsResource] = []

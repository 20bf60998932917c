"""DescribeConfigs, API 32: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    ignorable,
    since,
    until,
)


class DescribeConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    configuration_keys: list[String] | None = []


class DescribeConfigsRequest(Message, api_key=32, versions="0-4", flexible="4+"):
    """Settings of topics, brokers and other resources, with where each value comes from.

    v1: synonyms and sources instead of a mere default flag (KIP-226).  v3: type and
    documentation (KIP-569).  v4: flexible.
    """

    resources: list[DescribeConfigsResource] = []
    include_synonyms: Annotated[Bool, since(1)] = False
    include_documentation: Annotated[Bool, since(3)] = False


class DescribeConfigsSynonym(Struct):
    name: String = ""
    value: NullableString = ""
    source: Int8 = 0


class DescribeConfigsResourceResult(Struct):
    name: String = ""
    value: NullableString = ""
    read_only: Bool = False
    is_default: Annotated[Bool, until(0)] = False
    config_source: Annotated[Int8, since(1), ignorable] = -1
    is_sensitive: Bool = False
    synonyms: Annotated[list[DescribeConfigsSynonym], since(1), ignorable] = []
    config_type: Annotated[Int8, since(3), ignorable] = 0
    documentation: Annotated[NullableString, since(3), ignorable] = ""


class DescribeConfigsResult(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[DescribeConfigsResourceResult] = []


class DescribeConfigsResponse(Message, api_key=32, versions="0-4", flexible="4+"):
    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult] = []

"""IncrementalAlterConfigs, API 44: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int8, Int16, Int32, NullableString, String, secret


class AlterableConfig(Struct):
    name: String = ""
    config_operation: Int8 = 0
    value: Annotated[NullableString, secret] = ""


class AlterConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[AlterableConfig] = []


class IncrementalAlterConfigsRequest(Message, api_key=44, versions="0-1", flexible="1+"):
    """Sets, deletes, appends to or subtracts from single settings (KIP-339).  v1: flexible."""

    resources: list[AlterConfigsResource] = []
    validate_only: Bool = False


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""


class IncrementalAlterConfigsResponse(Message, api_key=44, versions="0-1", flexible="1+"):
    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = []

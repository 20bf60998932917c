"""AlterConfigs, API 33: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int8, Int16, Int32, NullableString, String, secret


class AlterableConfig(Struct):
    name: String = ""
    value: Annotated[NullableString, secret] = ""


class AlterConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[AlterableConfig] = []


class AlterConfigsRequest(Message, api_key=33, versions="0-2", flexible="2+"):
    """Replaces all settings of a resource.  IncrementalAlterConfigs changes single ones."""

    resources: list[AlterConfigsResource] = []
    validate_only: Bool = False


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""
    resource_type: Int8 = 0
    resource_name: String = ""


class AlterConfigsResponse(Message, api_key=33, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = []

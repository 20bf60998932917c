"""AlterClientQuotas, API 49: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Float64, Int16, Int32, NullableString, String


class EntityData(Struct):
    entity_type: String = ""
    entity_name: NullableString = ""


class OpData(Struct):
    key: String = ""
    value: Float64 = 0.0
    remove: Bool = False


class RequestEntryData(Struct):
    entity: list[EntityData] = []
    ops: list[OpData] = []


class AlterClientQuotasRequest(Message, api_key=49, versions="0-1", flexible="1+"):
    """Sets or removes quotas (KIP-546).  v1: flexible."""

    entries: list[RequestEntryData] = []
    validate_only: Bool = False


class ResponseEntryData(Struct):
    error_code: Int16 = 0
    error_message: NullableString = ""
    entity: list[EntityData] = []


class AlterClientQuotasResponse(Message, api_key=49, versions="0-1", flexible="1+"):
    throttle_time_ms: Int32 = 0
    entries: list[ResponseEntryData] = []

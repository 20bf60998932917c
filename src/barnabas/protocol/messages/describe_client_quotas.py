"""DescribeClientQuotas, API 48: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Float64, Int8, Int16, Int32, NullableString, String


class ComponentData(Struct):
    entity_type: String = ""
    match_type: Int8 = 0
    match: NullableString = ""


class DescribeClientQuotasRequest(Message, api_key=48, versions="0-1", flexible="1+"):
    """Quotas that match a filter (KIP-546).  v1: flexible."""

    components: list[ComponentData] = []
    strict: Bool = False


class EntityData(Struct):
    entity_type: String = ""
    entity_name: NullableString = ""


class ValueData(Struct):
    key: String = ""
    value: Float64 = 0.0


class EntryData(Struct):
    entity: list[EntityData] = []
    values: list[ValueData] = []


class DescribeClientQuotasResponse(Message, api_key=48, versions="0-1", flexible="1+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    entries: list[EntryData] | None = []

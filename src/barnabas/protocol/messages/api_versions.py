"""ApiVersions: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int16, Int32, Int64, String, ignorable, since, tag


class ApiVersionsRequest(Message, api_key=18, versions="0-4", flexible="3+"):
    client_software_name: Annotated[String, since(3), ignorable] = ""
    client_software_version: Annotated[String, since(3), ignorable] = ""


class ApiVersion(Struct):
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


class SupportedFeatureKey(Struct):
    name: String = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


class FinalizedFeatureKey(Struct):
    name: String = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


class ApiVersionsResponse(Message, api_key=18, versions="0-4", flexible="3+"):
    error_code: Int16 = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    supported_features: Annotated[list[SupportedFeatureKey], since(3), tag(0), ignorable] = []
    finalized_features_epoch: Annotated[Int64, since(3), tag(1), ignorable] = -1
    finalized_features: Annotated[list[FinalizedFeatureKey], since(3), tag(2), ignorable] = []
    zk_migration_ready: Annotated[Bool, since(3), tag(3), ignorable] = False

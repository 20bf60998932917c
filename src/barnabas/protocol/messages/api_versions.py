"""ApiVersions, API 18: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int16, Int32, Int64, String, ignorable, since, tag


class ApiVersionsRequest(Message, api_key=18, versions="0-4", flexible="3+"):
    """The first request of a client: which APIs does the broker answer, in which versions?

    Its response always has header version 0, and an unknown version is answered as v0.
    v3: flexible; name and version of the client's software (KIP-511), features in the answer
    (KIP-584).  v4: features whose lowest level is 0 are shown (KIP-1022).
    """

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

"""UpdateFeatures, API 57: request and response."""

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


class FeatureUpdateKey(Struct):
    feature: String = ""
    max_version_level: Int16 = 0
    allow_downgrade: Annotated[Bool, until(0)] = False
    upgrade_type: Annotated[Int8, since(1)] = 1


class UpdateFeaturesRequest(Message, api_key=57, versions="0-2", flexible="0+"):
    """Raises or lowers finalized feature levels (KIP-584).

    v1: dry runs, and safe and unsafe downgrades (KIP-778).  v2: one code for all (KIP-1022).
    """

    timeout_ms: Int32 = 60000
    feature_updates: list[FeatureUpdateKey] = []
    validate_only: Annotated[Bool, since(1)] = False


class UpdatableFeatureResult(Struct):
    feature: String = ""
    error_code: Int16 = 0
    error_message: NullableString = ""


class UpdateFeaturesResponse(Message, api_key=57, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    results: Annotated[list[UpdatableFeatureResult], until(1), ignorable] = []

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.dispatch import HANDLERS, load_handlers
from barnabas.broker.handlers.k18_api_versions import api_versions
from barnabas.protocol.apis import api
from barnabas.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from barnabas.protocol.messages.metadata_records import FeatureLevelRecord


def request(name: str = "client", version: str = "1.0") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


def test_the_ranges_are_those_of_the_handler_table(world: Any) -> None:
    load_handlers()

    answer = world.call(api_versions, request(), 4)

    assert answer.api_keys == [
        ApiVersion(api_key=key, min_version=e.version_min, max_version=e.version_max)
        for key, e in sorted(HANDLERS.items())
    ]
    assert ApiVersion(api_key=18, min_version=0, max_version=4) in answer.api_keys


def test_every_handler_keeps_to_versions_that_the_codec_knows() -> None:
    for entry in load_handlers().values():
        described = api(entry.key)
        assert described.min_version <= entry.version_min <= entry.version_max
        assert entry.version_max <= described.max_version


def test_features_supported_by_this_broker_and_finalized_by_the_cluster(world: Any) -> None:
    world.register(1, features=(("metadata.version", 7, 25), ("group.version", 0, 1)))
    world.replay(FeatureLevelRecord(name="metadata.version", feature_level=25))

    answer = world.call(api_versions, request(), 4)

    answer.api_keys = []
    assert answer == ApiVersionsResponse(
        supported_features=[
            SupportedFeatureKey(name="group.version", min_version=0, max_version=1),
            SupportedFeatureKey(name="metadata.version", min_version=7, max_version=25),
        ],
        finalized_features_epoch=world.image.applied_offset,
        finalized_features=[
            FinalizedFeatureKey(name="metadata.version", max_version_level=25, min_version_level=25)
        ],
    )


def test_version_3_is_not_told_of_ranges_that_begin_at_zero(world: Any) -> None:
    world.register(1, features=(("metadata.version", 7, 25), ("group.version", 0, 1)))

    answer = world.call(api_versions, request(), 3)

    assert [feature.name for feature in answer.supported_features] == ["metadata.version"]


@pytest.mark.parametrize(
    ("name", "version"),
    [("", "1"), ("a", ""), ("two words", "1"), ("-a", "1"), ("a.", "1"), ("a", "1_0")],
)
def test_client_software_must_be_named_properly(world: Any, name: str, version: str) -> None:
    assert world.call(api_versions, request(name, version), 3) == ApiVersionsResponse(
        error_code=ErrorCode.INVALID_REQUEST
    )


@pytest.mark.parametrize(("name", "version"), [("a", "1"), ("apache-kafka.java", "4.0-x")])
def test_usual_names_are_accepted(world: Any, name: str, version: str) -> None:
    assert world.call(api_versions, request(name, version), 3).error_code == ErrorCode.NONE


def test_old_versions_name_no_software(world: Any) -> None:
    assert world.call(api_versions, request("", ""), 2).error_code == ErrorCode.NONE

"""The table of APIs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from barnabas.protocol.apis import APIS, Api, ApiKey, api
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.types import LATEST


@pytest.mark.parametrize("entry", APIS.values(), ids=lambda entry: entry.name)
def test_the_table_agrees_with_the_declarations(entry: Api) -> None:
    for cls in (entry.request, entry.response):
        assert cls.api_key == entry.key
        assert range(cls.min_version, cls.max_version + 1) == entry.versions
        assert cls.flexible_since == entry.flexible_since
    assert entry.request.__name__ == f"{entry.name}Request"
    assert entry.response.__name__ == f"{entry.name}Response"


@pytest.mark.parametrize("entry", APIS.values(), ids=lambda entry: entry.name)
def test_stable_versions_can_be_read_and_written(entry: Api) -> None:
    assert set(entry.stable) <= set(entry.advertised) <= set(entry.versions)
    assert entry.listeners
    assert entry.listeners <= {"broker", "controller"}
    assert entry.flexible_since in range(LATEST + 1)


def test_every_key_has_an_entry() -> None:
    assert set(APIS) == set(ApiKey)
    assert len(APIS) == 84


def test_versions_are_those_of_kafka_4_0() -> None:
    assert api(ApiKey.FETCH).stable == range(4, 18)
    assert api(ApiKey.METADATA).stable == range(14)
    assert api(ApiKey.API_VERSIONS).stable == range(5)
    assert api(ApiKey.CREATE_TOPICS).stable == range(2, 8)


def test_unstable_versions_are_known_but_not_advertised() -> None:
    share = api(ApiKey.SHARE_FETCH)

    assert 0 in share.versions
    assert len(share.advertised) == 0


def test_fetch_is_read_in_the_version_that_the_tools_of_kafka_4_3_send_unasked() -> None:
    assert api(ApiKey.FETCH).versions == range(19)


def test_produce_is_advertised_from_version_0_for_librdkafka() -> None:
    assert api(ApiKey.PRODUCE).stable == range(3, 13)
    assert api(ApiKey.PRODUCE).advertised == range(13)


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.VOTE, 0, 2, 1),
    ],
)
def test_header_versions(
    key: ApiKey, version: int, request_header: int, response_header: int
) -> None:
    assert api(key).request_header_version(version) == request_header
    assert api(key).response_header_version(version) == response_header


@pytest.mark.parametrize("key", [-1, 4, 7, 999])
def test_an_unknown_key_is_the_peers_fault(key: int) -> None:
    with pytest.raises(DecodeError, match=f"no API with key {key}"):
        api(key)


def test_an_entry_shows_its_name_and_versions() -> None:
    assert repr(api(12)) == "Api(Heartbeat, key=12, versions=range(0, 5))"


def test_importing_the_table_imports_no_message_and_no_compiler() -> None:
    program = (
        "import sys, barnabas.protocol.apis, barnabas.protocol.framing\n"
        "print([m for m in sys.modules if m.startswith('barnabas.protocol')])"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert "messages" not in loaded
    assert "reader" not in loaded
    assert "writer" not in loaded

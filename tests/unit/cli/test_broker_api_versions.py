from __future__ import annotations

import json
from typing import Any

import pytest
from fake_brokers import FakeCluster, install

from barnabas.cli.broker_api_versions import broker_lines, usable
from barnabas.cli.main import run_tool
from barnabas.client.cluster_admin import Endpoint
from barnabas.protocol.messages import api_versions, describe_cluster

Captured = pytest.CaptureFixture[str]
HERE = Endpoint(node_id=1, host="h", port=1, rack="r", is_fenced=False)


def run(line: str) -> int:
    words = f"--bootstrap-server h:1 {line}".split()
    return run_tool("kafka-broker-api-versions", "barnabas.cli.broker_api_versions", words)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)

    def described(broker: int, request: Any) -> describe_cluster.DescribeClusterResponse:
        node = describe_cluster.DescribeClusterBroker
        return describe_cluster.DescribeClusterResponse(
            cluster_id="abc",
            brokers=[node(broker_id=number, host="h", port=number) for number in (1, 2)],
        )

    def versions(broker: int, request: Any) -> api_versions.ApiVersionsResponse:
        return api_versions.ApiVersionsResponse(
            error_code=0 if broker == 1 else 42,
            api_keys=[api_versions.ApiVersion(api_key=3, min_version=0, max_version=13)],
        )

    made.respond[describe_cluster.DescribeClusterRequest] = described
    made.respond[api_versions.ApiVersionsRequest] = versions
    return made


def test_every_request_of_clients_has_a_line() -> None:
    heading, *rows, end = broker_lines(
        HERE, {0: (3, 99), 3: (5, 5), 1: (90, 99), 88: (0, 1), 999: (0, 2)}
    )
    assert heading == "h:1 (id: 1 rack: r isFenced: false) -> ("
    assert end == ")"
    assert rows[0] == "\tProduce(0): 3 to 99 [usable: 12],"
    assert rows[1] == "\tFetch(1): 90 to 99 [unusable: node too new],"
    assert "\tMetadata(3): 5 [usable: 5]," in rows
    assert "\tListGroups(16): UNSUPPORTED," in rows
    assert "\tStreamsGroupHeartbeat(88): 0 to 1 [unusable: node too old]," in rows
    assert rows[-1] == "\tUNKNOWN(999): 0 to 2"
    assert not any("BrokerHeartbeat" in row for row in rows), "nothing that only nodes say"


def test_usable_is_what_both_sides_know() -> None:
    assert usable(3, (0, 99)) == 13
    assert usable(3, (0, 4)) == 4
    assert usable(3, (90, 99)) is None
    assert usable(999, (0, 1)) is None


def test_a_broker_that_does_not_tell_does_not_hide_the_others(
    cluster: FakeCluster, capsys: Captured
) -> None:
    assert run("") == 1
    said = capsys.readouterr().out
    assert said.startswith("h:1 (id: 1 rack: null isFenced: false) -> (\n")
    assert "\th:2" not in said
    assert "\nh:2 (id: 2 rack: null isFenced: false) -> ERROR: " in said


def test_json_has_the_same(cluster: FakeCluster, capsys: Captured) -> None:
    assert run("--json") == 1
    first, second = json.loads(capsys.readouterr().out)
    assert (first["id"], first["error"]) == (1, None)
    assert first["apis"] == [
        {"name": "Metadata", "key": 3, "min_version": 0, "max_version": 13, "usable_version": 13}
    ]
    assert second["apis"] == []
    assert second["error"]

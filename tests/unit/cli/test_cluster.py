from __future__ import annotations

import json
from typing import Any

import pytest
from fake_brokers import FakeCluster, install

from barnabas.cli.cluster import endpoint_lines
from barnabas.cli.main import run_tool
from barnabas.client.cluster_admin import Endpoint
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import describe_cluster, unregister_broker

Captured = pytest.CaptureFixture[str]


def run(line: str) -> int:
    return run_tool("kafka-cluster", "barnabas.cli.cluster", line.split())


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)

    def described(broker: int, request: Any) -> describe_cluster.DescribeClusterResponse:
        node = describe_cluster.DescribeClusterBroker
        return describe_cluster.DescribeClusterResponse(
            endpoint_type=request.endpoint_type,
            cluster_id="abc",
            brokers=[node(broker_id=1, host="h", port=1)],
        )

    made.respond[describe_cluster.DescribeClusterRequest] = described
    made.respond[unregister_broker.UnregisterBrokerRequest] = lambda broker, request: (
        unregister_broker.UnregisterBrokerResponse(error_message=None)
    )
    return made


def endpoint(number: int, **fields: Any) -> Endpoint:
    known = {"host": "localhost", "port": 9092, "rack": None, "is_fenced": False}
    return Endpoint(node_id=number, **(known | fields))


def test_endpoints_of_brokers_have_a_state() -> None:
    rows = [endpoint(1), endpoint(22, host="h", rack="a-rack-of-14ch", is_fenced=True)]
    assert endpoint_lines(rows, of_controllers=False) == [
        "ID         HOST      PORT       RACK           STATE      ENDPOINT_TYPE  ",
        "1          localhost 9092       null           unfenced   broker         ",
        "22         h         9092       a-rack-of-14ch fenced     broker         ",
    ]


def test_endpoints_of_controllers_have_none() -> None:
    assert endpoint_lines([endpoint(1)], of_controllers=True) == [
        "ID         HOST      PORT       RACK       ENDPOINT_TYPE  ",
        "1          localhost 9092       null       controller     ",
    ]


@pytest.mark.parametrize("place", ["--bootstrap-server h:1", "-b h:1", "-C h:1"])
def test_the_id_is_shown(capsys: Captured, place: str) -> None:
    assert run(f"cluster-id {place}") == 0
    assert capsys.readouterr() == ("Cluster ID: abc\n", "")


def test_json_has_the_same(capsys: Captured) -> None:
    assert run("cluster-id -b h:1 --json") == 0
    assert json.loads(capsys.readouterr().out) == {"cluster_id": "abc"}
    for place, kind, fenced in (("-b", "broker", False), ("-C", "controller", None)):
        assert run(f"list-endpoints {place} h:1 --json") == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert (row["id"], row["rack"], row["fenced"], row["endpoint_type"]) == (
            1,
            None,
            fenced,
            kind,
        )


def test_a_broker_is_unregistered(cluster: FakeCluster, capsys: Captured) -> None:
    assert run("unregister -b h:1 --id 3") == 0
    assert capsys.readouterr().out == "Broker 3 is no longer registered.\n"
    cluster.highest[ApiKey.UNREGISTER_BROKER] = -1
    assert run("unregister -b h:1 -i 3") == 1
    assert capsys.readouterr().err == (
        "kafka-cluster: The target cluster does not support the broker unregistration API.\n"
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "a command is needed: cluster-id, list-endpoints, unregister"),
        ("nonsense", '"nonsense" is not a command'),
        ("cluster-id --id 3", "--id cannot be used with cluster-id"),
        ("unregister", "--id is missing"),
        ("unregister --id some", '--id: "some" is not a whole number'),
        ("unregister --id 3 --json", "--json cannot be used with unregister"),
        ("list-endpoints -C h:1 --include-fenced-brokers", "needs --bootstrap-server"),
        ("cluster-id -b h:1 -C h:1", "cannot be used together"),
        ("cluster-id -C h:port", '--bootstrap-controller: "h:port" is not host:port'),
        ("cluster-id --nonsense", "unknown option --nonsense"),
    ],
)
def test_what_cannot_be_meant_is_one_line(capsys: Captured, line: str, complaint: str) -> None:
    assert run(line) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert complaint in said.err

"""Clients of somebody else's cluster are led to the gates."""

from __future__ import annotations

from passing_messages import passing_response

from barnabas.lab.faults.readdressing import readdress
from barnabas.protocol.apis import APIS, ApiKey
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from barnabas.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from barnabas.protocol.messages.produce import NodeEndpoint, ProduceResponse

GATES = {1: ("127.0.0.1", 1001), 2: ("127.0.0.1", 1002)}


def test_brokers_are_where_their_gates_are() -> None:
    brokers = [MetadataResponseBroker(node_id=node, host="kafka", port=9092) for node in (1, 2, 3)]
    passing = passing_response(MetadataResponse(brokers=brokers), 12)

    assert readdress(passing, GATES)
    assert [(each.host, each.port) for each in passing.message.brokers] == [
        ("127.0.0.1", 1001),
        ("127.0.0.1", 1002),
        ("kafka", 9092),
    ]
    assert not readdress(passing, GATES)


def test_coordinators_and_new_leaders_are_behind_the_gates_too() -> None:
    found = FindCoordinatorResponse(coordinators=[Coordinator(node_id=2, host="k", port=1)])
    moved = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=1, host="k", port=1)])
    coordinator, leader = passing_response(found, 4), passing_response(moved, 10)

    assert readdress(coordinator, GATES)
    assert coordinator.message.coordinators[0].port == 1002
    assert readdress(leader, GATES)
    assert leader.message.node_endpoints[0].port == 1001


def test_versions_that_are_unknown_here_are_not_offered() -> None:
    highest = APIS[ApiKey.PRODUCE].max_version
    offered = [
        ApiVersion(api_key=ApiKey.PRODUCE, min_version=3, max_version=highest + 5),
        ApiVersion(api_key=ApiKey.HEARTBEAT, min_version=0, max_version=4),
        ApiVersion(api_key=999, min_version=0, max_version=1),
    ]
    passing = passing_response(ApiVersionsResponse(api_keys=offered), 3)

    assert readdress(passing, GATES)
    assert [each.max_version for each in passing.message.api_keys] == [highest, 4, 1]

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.base.ids import NO_ID, id_text
from barnabas.client.brokers import CONTROLLERS, Brokers
from barnabas.client.cluster_admin import ClusterAdmin, Endpoint, FeatureLevels
from barnabas.client.errors import ClientError, RefusedError
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import (
    api_versions,
    describe_cluster,
    describe_quorum,
    unregister_broker,
    update_features,
)
from barnabas.protocol.messages.metadata import MetadataRequest

CONTROLLER = {"bootstrap.controllers": "h:1"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)
    made.respond[describe_cluster.DescribeClusterRequest] = described
    return made


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[ClusterAdmin]:
    with ClusterAdmin.connect(PLAIN) as connected:
        yield connected
    assert cluster.open_connections == 0


def described(broker: int, request: Any) -> describe_cluster.DescribeClusterResponse:
    node = describe_cluster.DescribeClusterBroker
    nodes = [node(broker_id=2, host="h", port=2), node(broker_id=1, host="h", port=1, rack="r")]
    if request.include_fenced_brokers:
        nodes.append(node(broker_id=3, host="h", port=3, is_fenced=True))
    return describe_cluster.DescribeClusterResponse(
        endpoint_type=request.endpoint_type, cluster_id="id", controller_id=2, brokers=nodes
    )


def test_endpoints_come_by_id(admin: ClusterAdmin) -> None:
    view = admin.view()
    assert (view.cluster_id, view.controller_id) == ("id", 2)
    assert view.endpoints == [
        Endpoint(node_id=1, host="h", port=1, rack="r", is_fenced=False),
        Endpoint(node_id=2, host="h", port=2, rack=None, is_fenced=False),
    ]
    assert [each.is_fenced for each in admin.view(include_fenced=True).endpoints][-1]


def test_an_older_broker_cannot_tell_of_fenced_ones(
    cluster: FakeCluster, admin: ClusterAdmin
) -> None:
    cluster.highest[ApiKey.DESCRIBE_CLUSTER] = 1
    with pytest.raises(ClientError, match="cannot tell of fenced brokers"):
        admin.view(include_fenced=True)


def test_controllers_are_asked_for_controllers(cluster: FakeCluster) -> None:
    with ClusterAdmin.connect(CONTROLLER) as admin:
        assert admin.brokers.of_controllers
        admin.view()
        assert admin.brokers.controller() is admin.brokers.to(2)
    kinds = {
        request.endpoint_type
        for _, request in cluster.sent(describe_cluster.DescribeClusterRequest)
    }
    assert kinds == {CONTROLLERS}
    assert cluster.sent(MetadataRequest) == []


def test_the_wrong_kind_of_listener_is_said(cluster: FakeCluster) -> None:
    cluster.highest[ApiKey.METADATA] = -1
    with pytest.raises(ClientError, match="h:1 is a controller's listener: --bootstrap-server"):
        Brokers.connect(PLAIN, timeout_s=1)
    cluster.respond[describe_cluster.DescribeClusterRequest] = lambda broker, request: (
        describe_cluster.DescribeClusterResponse(error_code=114, error_message="ask a controller")
    )
    with pytest.raises(RefusedError, match=r"^ask a controller$"):
        Brokers.connect(CONTROLLER, timeout_s=1)
    assert cluster.open_connections == 0


@pytest.mark.parametrize("code", [0, 102])
def test_a_broker_is_unregistered_at_the_controller(
    cluster: FakeCluster, admin: ClusterAdmin, code: int
) -> None:
    cluster.respond[unregister_broker.UnregisterBrokerRequest] = lambda broker, request: (
        unregister_broker.UnregisterBrokerResponse(error_code=code, error_message="not registered")
    )
    if code:
        with pytest.raises(RefusedError, match=r"^not registered$"):
            admin.unregister(7)
    else:
        admin.unregister(7)
    ((_, request),) = cluster.sent(unregister_broker.UnregisterBrokerRequest)
    assert request.broker_id == 7


@pytest.mark.parametrize("epoch", [-1, 12])
def test_features_are_what_is_supported_with_what_is_in_force(
    cluster: FakeCluster, admin: ClusterAdmin, epoch: int
) -> None:
    supported, finalized = api_versions.SupportedFeatureKey, api_versions.FinalizedFeatureKey
    cluster.respond[api_versions.ApiVersionsRequest] = lambda broker, request: (
        api_versions.ApiVersionsResponse(
            api_keys=[api_versions.ApiVersion(api_key=3, min_version=1, max_version=broker)],
            supported_features=[
                supported(name="z", max_version=2),
                supported(name="a", min_version=1, max_version=1),
            ],
            finalized_features=[finalized(name="z", max_version_level=2)],
            finalized_features_epoch=epoch,
        )
    )
    found = admin.versions()
    assert found.features == [
        FeatureLevels(name="a", lowest=1, highest=1, finalized=0),
        FeatureLevels(name="z", lowest=0, highest=2, finalized=2),
    ]
    assert found.epoch == (None if epoch < 0 else epoch)
    assert admin.versions(2).ranges == {3: (1, 2)}


@pytest.mark.parametrize("version", [1, 2])
def test_features_are_told_one_by_one_or_all_at_once(
    cluster: FakeCluster, admin: ClusterAdmin, version: int
) -> None:
    cluster.highest[ApiKey.UPDATE_FEATURES] = version
    result = update_features.UpdatableFeatureResult

    def answer(broker: int, request: Any) -> Any:
        assert request.validate_only
        assert {each.upgrade_type for each in request.feature_updates} == {3}
        return update_features.UpdateFeaturesResponse(
            error_code=95 if version == 2 else 0,
            error_message="all failed",
            results=[result(feature="a", error_message=None), result(feature="b", error_code=95)],
        )

    cluster.respond[update_features.UpdateFeaturesRequest] = answer
    found = admin.update_features({"a": 1, "b": 2}, upgrade_type=3, dry_run=True)
    failed = {name for name, error in found.items() if error is not None}
    assert failed == ({"a", "b"} if version == 2 else {"b"})


def test_a_quorum_has_leader_voters_and_observers(
    cluster: FakeCluster, admin: ClusterAdmin
) -> None:
    state = describe_quorum.ReplicaState
    partition = describe_quorum.ResponsePartitionData(
        leader_id=2,
        leader_epoch=5,
        high_watermark=90,
        error_message=None,
        current_voters=[
            state(replica_id=2, log_end_offset=91, last_fetch_timestamp=7),
            state(replica_id=3, log_end_offset=80, replica_directory_id=b"0123456789abcdef"),
        ],
        observers=[state(replica_id=1, log_end_offset=70)],
    )
    cluster.respond[describe_quorum.DescribeQuorumRequest] = lambda broker, request: (
        describe_quorum.DescribeQuorumResponse(
            error_message=None,
            topics=[describe_quorum.ResponseTopicData(partitions=[partition])],
            nodes=[
                describe_quorum.Node(
                    node_id=2, listeners=[describe_quorum.Listener(name="C", host="h", port=9)]
                )
            ],
        )
    )
    quorum = admin.quorum()
    leader, follower = quorum.voters
    assert (quorum.leader_id, quorum.leader_epoch, quorum.high_watermark) == (2, 5, 90)
    assert (leader.last_fetch_ms, leader.last_caught_up_ms, leader.endpoints) == (
        7,
        None,
        ["C://h:9"],
    )
    assert (leader.directory_id, leader.has_directory) == (id_text(NO_ID), False)
    assert follower.has_directory
    assert [each.node_id for each in quorum.observers] == [1]

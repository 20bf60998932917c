from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.client.errors import ClientError, RefusedError
from barnabas.client.replica_admin import (
    BROKER,
    TOPIC,
    LogDirectory,
    Reassignment,
    ReplicaAdmin,
    StoredReplica,
)
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import alter_partition_reassignments as alter
from barnabas.protocol.messages import alter_replica_log_dirs as dirs
from barnabas.protocol.messages import describe_cluster, describe_log_dirs
from barnabas.protocol.messages import incremental_alter_configs as configs
from barnabas.protocol.messages import list_partition_reassignments as listing


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    return install(monkeypatch)


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[ReplicaAdmin]:
    with ReplicaAdmin.connect(PLAIN) as opened:
        yield opened
    assert cluster.open_connections == 0


def test_brokers_are_told_with_their_racks(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    cluster.respond[describe_cluster.DescribeClusterRequest] = lambda broker, request: (
        describe_cluster.DescribeClusterResponse(
            brokers=[
                describe_cluster.DescribeClusterBroker(broker_id=2, host="h", port=2, rack="r"),
                describe_cluster.DescribeClusterBroker(broker_id=1, host="h", port=1),
            ]
        )
    )
    assert [(each.node_id, each.rack) for each in admin.cluster()] == [(1, None), (2, "r")]


def test_topics_that_do_not_exist_have_no_replicas(admin: ReplicaAdmin) -> None:
    assert admin.assignment(["t", "none", "t"]) == {("t", 0): (1,), ("t", 1): (2,)}


def test_moves_are_told(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    cluster.respond[listing.ListPartitionReassignmentsRequest] = lambda broker, request: (
        listing.ListPartitionReassignmentsResponse(
            topics=[
                listing.OngoingTopicReassignment(
                    name="t",
                    partitions=[
                        listing.OngoingPartitionReassignment(
                            partition_index=1,
                            replicas=[1, 2, 3],
                            adding_replicas=[3],
                            removing_replicas=[1],
                        )
                    ],
                )
            ]
        )
    )
    assert admin.reassignments() == {
        ("t", 1): Reassignment(replicas=(1, 2, 3), adding=(3,), removing=(1,))
    }
    ((_, request),) = cluster.sent(listing.ListPartitionReassignmentsRequest)
    assert request.topics is None, "all of them"


def test_moves_are_started_and_ended(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    def respond(broker: int, request: Any) -> Any:
        return alter.AlterPartitionReassignmentsResponse(
            responses=[
                alter.ReassignableTopicResponse(
                    name=topic.name,
                    partitions=[
                        alter.ReassignablePartitionResponse(
                            partition_index=each.partition_index,
                            error_code=85 if each.replicas is None else 0,
                            error_message="nothing moves" if each.replicas is None else None,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    cluster.respond[alter.AlterPartitionReassignmentsRequest] = respond
    refused = admin.reassign({("t", 1): None, ("t", 0): (2, 1)})

    ((place, error),) = refused.items()
    assert (place, error.name, str(error)) == (
        ("t", 1),
        "NO_REASSIGNMENT_IN_PROGRESS",
        "nothing moves",
    )
    ((_, request),) = cluster.sent(alter.AlterPartitionReassignmentsRequest)
    assert [(p.partition_index, p.replicas) for p in request.topics[0].partitions] == [
        (0, [2, 1]),
        (1, None),
    ]


def test_what_is_refused_as_a_whole_is_raised(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    cluster.respond[alter.AlterPartitionReassignmentsRequest] = lambda broker, request: (
        alter.AlterPartitionReassignmentsResponse(error_code=41, error_message="not I")
    )
    with pytest.raises(RefusedError, match="not I"):
        admin.reassign({("t", 0): (1,)})


def agree(broker: int, request: Any) -> Any:
    return configs.IncrementalAlterConfigsResponse(
        responses=[
            configs.AlterConfigsResourceResponse(
                resource_type=each.resource_type,
                resource_name=each.resource_name,
                error_code=3 if each.resource_name == "none" else 0,
            )
            for each in request.resources
        ]
    )


def test_settings_of_a_broker_are_changed_there(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    """Those of one that is away, wherever the rest of the cluster can be reached."""
    cluster.respond[configs.IncrementalAlterConfigsRequest] = agree
    admin.change_settings(BROKER, {"2": {"a": "1"}, "1": {"a": None}, "9": {"a": "1"}})
    sent = cluster.sent(configs.IncrementalAlterConfigsRequest)
    assert [(at, request.resources[0].resource_name) for at, request in sent] == [
        (1, "1"),
        (2, "2"),
        (1, "9"),
    ]
    (first, second) = (request.resources[0].configs[0] for _, request in sent[:2])
    assert (first.config_operation, first.value) == (1, None)
    assert (second.config_operation, second.value) == (0, "1")


def test_settings_of_topics_are_changed_in_one_request(
    cluster: FakeCluster, admin: ReplicaAdmin
) -> None:
    cluster.respond[configs.IncrementalAlterConfigsRequest] = agree
    admin.change_settings(TOPIC, {})
    admin.change_settings(TOPIC, {"u": {"a": "1"}, "t": {"a": "1", "b": None}})
    ((_, request),) = cluster.sent(configs.IncrementalAlterConfigsRequest)
    assert [each.resource_name for each in request.resources] == ["t", "u"]
    with pytest.raises(RefusedError):
        admin.change_settings(TOPIC, {"none": {"a": "1"}})


def test_log_directories_are_told(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    cluster.respond[describe_log_dirs.DescribeLogDirsRequest] = lambda broker, request: (
        describe_log_dirs.DescribeLogDirsResponse(
            results=[
                describe_log_dirs.DescribeLogDirsResult(error_code=56, log_dir="/lost"),
                describe_log_dirs.DescribeLogDirsResult(
                    log_dir="/data",
                    topics=[
                        describe_log_dirs.DescribeLogDirsTopic(
                            name="t",
                            partitions=[
                                describe_log_dirs.DescribeLogDirsPartition(
                                    partition_index=1,
                                    partition_size=5,
                                    offset_lag=2,
                                    is_future_key=True,
                                )
                            ],
                        )
                    ],
                ),
            ]
        )
    )
    replica = StoredReplica(topic="t", partition=1, size=5, offset_lag=2, is_future=True)
    assert admin.log_directories(2, [("t", 1), ("t", 0)]) == [
        LogDirectory(path="/lost", error="KAFKA_STORAGE_ERROR", replicas=[]),
        LogDirectory(path="/data", error=None, replicas=[replica]),
    ]
    admin.log_directories(2)
    (some, everything) = (
        request.topics for _, request in cluster.sent(describe_log_dirs.DescribeLogDirsRequest)
    )
    assert [(each.topic, each.partitions) for each in some] == [("t", [0, 1])]
    assert everything is None


def test_a_broker_that_is_not_there_is_said_to_be_so(admin: ReplicaAdmin) -> None:
    with pytest.raises(ClientError, match="there is no broker 9; brokers are 1, 2"):
        admin.log_directories(9)


def test_replicas_are_moved_by_their_brokers(cluster: FakeCluster, admin: ReplicaAdmin) -> None:
    def respond(broker: int, request: Any) -> Any:
        return dirs.AlterReplicaLogDirsResponse(
            results=[
                dirs.AlterReplicaLogDirTopicResult(
                    topic_name=topic.name,
                    partitions=[
                        dirs.AlterReplicaLogDirPartitionResult(
                            partition_index=number, error_code=9 if broker == 2 else 0
                        )
                        for number in topic.partitions
                    ],
                )
                for directory in request.dirs
                for topic in directory.topics
            ]
        )

    cluster.respond[dirs.AlterReplicaLogDirsRequest] = respond
    outcome = admin.move_to_directories(
        {("t", 0, 1): "/a", ("t", 1, 1): "/b", ("u", 0, 1): "/a", ("t", 0, 2): "/a"}
    )
    assert {replica for replica, error in outcome.items() if error is None} == {
        ("t", 0, 1),
        ("t", 1, 1),
        ("u", 0, 1),
    }
    late = outcome["t", 0, 2]
    assert late is not None
    assert late.name == "REPLICA_NOT_AVAILABLE"
    (first, second) = cluster.sent(dirs.AlterReplicaLogDirsRequest)
    assert (first[0], second[0]) == (1, 2)
    assert {each.path: [topic.name for topic in each.topics] for each in first[1].dirs} == {
        "/a": ["t", "u"],
        "/b": ["t"],
    }


def test_a_broker_that_cannot_move_replicas_says_so(
    cluster: FakeCluster, admin: ReplicaAdmin
) -> None:
    cluster.highest[ApiKey.ALTER_REPLICA_LOG_DIRS] = -1
    with pytest.raises(ClientError, match="does not offer AlterReplicaLogDirs"):
        admin.move_to_directories({("t", 0, 1): "/a"})


def test_a_forgotten_broker_is_connected_to_again(
    cluster: FakeCluster, admin: ReplicaAdmin
) -> None:
    cluster.respond[describe_log_dirs.DescribeLogDirsRequest] = lambda broker, request: (
        describe_log_dirs.DescribeLogDirsResponse()
    )
    for _ in range(2):
        admin.log_directories(2)
        assert cluster.open_connections == 2
        admin.forget(2)
        assert cluster.open_connections == 1
    admin.forget(2)

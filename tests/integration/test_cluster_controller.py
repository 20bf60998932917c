"""The controller of a cluster stops, dies and comes back; brokers go on without it."""

from __future__ import annotations

from pathlib import Path

from barnabas_process import BarnabasProcess
from cluster_processes import cluster
from cluster_view import ClusterView
from eventually import eventually
from quick_clients import read_all, send, values
from wire_client import WireClient
from zookeeper_server import free_port

from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)

PAIRS = [(str(number).encode(), b"value %d" % number) for number in range(50)]


def test_leaders_are_produced_to_and_read_from_while_there_is_no_controller(tmp_path: Path) -> None:
    with cluster(tmp_path) as three:
        view = ClusterView(three.bootstrap)
        view.create("t", partitions=1)
        leader = three.brokers[view.leaders("t")[0]].bootstrap

        three.controller.kill()
        send(leader, "t", PAIRS, acks="all")
        assert values(read_all(leader, "t")) == [value for _, value in PAIRS]

        three.start_controller()
        view.create("after", partitions=3)
        view.await_isr("t", 0, 1, 2)
        assert view.brokers() == {0, 1, 2}


def test_a_request_for_the_controller_waits_until_it_is_back(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=1) as one:
        three = ClusterView(one.bootstrap)
        one.controller.kill()
        one.start_controller()

        three.create("at-once", replicas=1)

        assert three.leaders("at-once") == {0: 0}


def test_a_broker_that_was_away_for_long_starts_from_a_snapshot(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=2) as two:
        view = ClusterView(two.brokers[0].bootstrap)
        view.create("before", partitions=5, replicas=2)
        two.brokers[1].kill()
        view.await_isr("before", 0)
        two.controller.stop()
        two.start_controller()  # keeps no log of what was before: only the state

        two.brokers[1].start(same_port=True)

        assert "metadata taken from the snapshot" in two.brokers[1].log
        view.await_isr("before", 0, 1)
        assert set(ClusterView(two.brokers[1].bootstrap).leaders("before")) == set(range(5))


def test_a_node_that_is_both_serves_clients_and_takes_in_other_brokers(tmp_path: Path) -> None:
    port = free_port()
    listener = ("controller.listener.names=CONTROLLER", "node.id=1")
    both = BarnabasProcess(
        tmp_path / "both",
        "process.roles=broker,controller",
        f"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}",
        *listener,
    )
    other = BarnabasProcess(
        tmp_path / "other",
        "process.roles=broker",
        "node.id=2",
        f"controller.quorum.voters=1@127.0.0.1:{port}",
        "controller.listener.names=CONTROLLER",
    )
    with both, other:
        view = ClusterView(both.bootstrap)
        view.await_brokers(1, 2)
        view.create("t", partitions=2, replicas=2)
        leaders = view.leaders("t")
        assert set(leaders.values()) == {1, 2}
        for partition, leader in leaders.items():
            place = (both if leader == 1 else other).bootstrap
            send(place, "t", PAIRS, partition=partition, acks="all")

        log = other.stop()

        assert "without the controller's knowledge" not in log
        view.await_isr("t", 1)
        for partition in leaders:
            found = values(read_all(both.bootstrap, "t", partition=partition))
            assert found == [value for _, value in PAIRS]


def test_its_listener_answers_the_apis_of_a_controller_and_no_others(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=1) as one:
        with WireClient(one.controller.port) as client:
            told = {api.api_key for api in client.call(ApiVersionsRequest(), 0).api_keys}
        with WireClient(one.brokers[0].port) as client:
            of_broker = {api.api_key for api in client.call(ApiVersionsRequest(), 0).api_keys}

    assert {1, 18, 19, 20, 44, 55, 56, 59, 60, 62, 63, 67} <= told
    assert not told & {0, 3, 10, 11, 22}
    assert not of_broker & {56, 59, 62, 63, 67}


def test_the_quorum_is_one_voter_and_brokers_that_keep_up(tmp_path: Path) -> None:
    topic = RequestTopicData(
        topic_name="__cluster_metadata", partitions=[RequestPartitionData(partition_index=0)]
    )
    with cluster(tmp_path, brokers=2) as two, WireClient(two.controller.port) as client:

        def settled() -> bool:
            answer = client.call(DescribeQuorumRequest(topics=[topic]), 2)
            (found,) = answer.topics[0].partitions
            assert (found.error_code, found.leader_id) == (0, 100)
            assert [voter.replica_id for voter in found.current_voters] == [100]
            assert [node.node_id for node in answer.nodes] == [100]
            return [(one.replica_id, one.log_end_offset) for one in found.observers] == [
                (0, found.high_watermark),
                (1, found.high_watermark),
            ]

        eventually(settled)

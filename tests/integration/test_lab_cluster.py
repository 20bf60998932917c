"""A lab's cluster: brokers that die and come back, links that are cut, replication that is held."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.client.errors import ClientError
from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.faults.conditions import acked, replicated

PATIENCE_S = 60
SETTINGS = {"replica.lag.time.max.ms": "2000"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LabCluster]:
    with LabCluster(3, settings=SETTINGS) as made:
        yield made


@pytest.fixture
def topic(cluster: LabCluster, topic_name: Callable[[], str]) -> Iterator[str]:
    """One partition, led by broker 1 and followed by 2 and 3."""
    name = topic_name()
    cluster.create_topic(name, assignment={0: [1, 2, 3]})
    yield name
    cluster.faults.lift_all()
    for broker in cluster.brokers.values():
        broker.thaw()
        if not broker.running:
            broker.start()
    cluster.wait(lambda: cluster.live_brokers() == {1, 2, 3}, PATIENCE_S, "all brokers")


def produce(cluster: LabCluster, topic: str, count: int, acks: str = "1", **config: object) -> int:
    """How many were acknowledged."""
    defaults = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0}
    producer = Producer({**defaults, "acks": acks, **config})
    failures: list[object] = []
    for number in range(count):
        producer.produce(topic, str(number), on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return failures.count(None)


def test_the_view_says_who_leads_and_who_is_in_sync(cluster: LabCluster, topic: str) -> None:
    produce(cluster, topic, 3, "all")

    (partition,) = cluster.view(topic).values()
    assert (partition.leader, partition.replicas) == (1, (1, 2, 3))
    assert set(partition.isr) == {1, 2, 3}
    assert (partition.start_offset, partition.end_offset) == (0, 3)


def test_connecting_to_a_dead_broker_is_refused_and_its_address_stays(
    cluster: LabCluster, topic: str
) -> None:
    broker = cluster.brokers[3]
    host, _, port = broker.address.partition(":")

    broker.kill()
    assert not broker.running
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
    broker.start()

    assert broker.running
    assert broker.address == f"{host}:{port}"
    cluster.wait_in_sync(topic)


def test_a_leader_that_dies_after_its_acknowledgement_takes_the_records_with_it(
    cluster: LabCluster, topic: str
) -> None:
    """The classic loss with acks=1, at a moment that is the same in every run.

    Records 5 and 6 are acknowledged and gone; the acknowledgement of 7 was under way as the leader
    died, so its producer sends it again, to the next leader.
    """
    produce(cluster, topic, 5, "all")
    hold = cluster.faults.hold_replication(topic, 0, at_offset=5)
    kill = cluster.faults.at(acked(topic) >= 8, cluster.brokers[1].kill, "kill the leader")

    one_at_a_time = {"max.in.flight": 1, "batch.num.messages": 1, "enable.idempotence": False}
    assert produce(cluster, topic, 5, "1", **one_at_a_time) == 5
    assert kill.hits == 1
    hold.lift()
    await_other_leader(cluster, topic)
    cluster.brokers[1].start()
    cluster.wait_in_sync(topic)

    assert [cluster.log_end(number, topic, 0) for number in (1, 2, 3)] == [8, 8, 8]


def test_a_held_follower_stays_where_it_is_while_the_other_follows(
    cluster: LabCluster, topic: str
) -> None:
    hold = cluster.faults.hold_replication(topic, 0, at_offset=2, follower=3)

    for _ in range(4):
        produce(cluster, topic, 1)
    cluster.faults.at(replicated(topic, 0, follower=2) >= 4, lambda: None).wait_hits(1, PATIENCE_S)
    hold.wait_hits(1, PATIENCE_S)

    assert cluster.log_end(2, topic, 0) == 4
    assert cluster.log_end(3, topic, 0) == 2
    cluster.wait(lambda: set(cluster.view(topic)[0].isr) == {1, 2}, PATIENCE_S, "the shrunk ISR")
    hold.lift()
    cluster.wait_in_sync(topic)
    assert cluster.log_end(3, topic, 0) == 4


@pytest.mark.parametrize("silent", [False, True])
def test_a_follower_that_is_cut_from_its_leader_leaves_the_isr_and_comes_back(
    cluster: LabCluster, topic: str, silent: bool
) -> None:
    cut = cluster.faults.cut(1, 2, silent=silent)
    produce(cluster, topic, 1)

    cluster.wait(lambda: set(cluster.view(topic)[0].isr) == {1, 3}, PATIENCE_S, "the shrunk ISR")
    assert cluster.live_brokers() == {1, 2, 3}
    assert cut.hits > 0
    cut.lift()

    cluster.wait_in_sync(topic)


def test_a_leader_that_is_isolated_is_replaced(cluster: LabCluster, topic: str) -> None:
    with cluster.faults.isolate(1):
        await_other_leader(cluster, topic)

    cluster.wait_in_sync(topic)


def test_a_leader_that_is_cut_from_the_controller_is_replaced(
    cluster: LabCluster, topic: str
) -> None:
    with cluster.faults.cut_controller(1):
        await_other_leader(cluster, topic)

    cluster.wait_in_sync(topic)


def await_other_leader(cluster: LabCluster, topic: str) -> None:
    """Whoever is cut off still speaks of itself, and is asked last."""
    cluster.wait(lambda: cluster.view(topic)[0].leader in (2, 3), PATIENCE_S, "another leader")


def test_a_frozen_broker_is_missed_and_comes_back(cluster: LabCluster, topic: str) -> None:
    cluster.brokers[3].freeze()
    assert cluster.brokers[3].frozen

    cluster.wait(lambda: 3 not in cluster.live_brokers(), PATIENCE_S, "a cluster without 3")
    with pytest.raises(ClientError):
        cluster.log_end(3, topic, 0)
    cluster.brokers[3].thaw()

    cluster.wait_in_sync(topic)


def test_a_trigger_cannot_wait_for_the_cluster(cluster: LabCluster, topic: str) -> None:
    trigger = cluster.faults.at(acked(topic) >= 1, cluster.brokers[3].restart)
    produce(cluster, topic, 1)

    with pytest.raises(RuntimeError, match="it would wait for itself"):
        trigger.wait_hits(1, PATIENCE_S)


def test_nodes_that_do_not_exist_cannot_be_cut(cluster: LabCluster) -> None:
    with pytest.raises(ValueError, match="there is no node 9"):
        cluster.faults.cut(1, 9)


def test_data_in_a_folder_of_ones_own_is_there_in_the_next_cluster(tmp_path: Path) -> None:
    with LabCluster(2, folder=tmp_path) as cluster:
        cluster.create_topic("t")
        produce(cluster, "t", 3, "all")
    assert "stopped: broker 1" in cluster.brokers[1].log

    with LabCluster(2, folder=tmp_path) as cluster:
        cluster.wait_in_sync("t")
        assert cluster.view("t")[0].end_offset == 3


def test_a_setting_may_be_for_one_broker_alone() -> None:
    with LabCluster(
        settings={"num.partitions": "3"}, broker_settings={1: {"num.partitions": "5"}}
    ) as cluster:
        cluster.create_topic("t", partitions=-1)
        assert len(cluster.view("t")) == 5

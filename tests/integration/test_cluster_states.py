"""What a learner sees in `kafka-topics --describe` when brokers go, come back, and are too few."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_processes import ClusterProcesses, cluster
from cluster_view import ClusterView
from confluent_kafka import KafkaError, Message, Producer
from eventually import eventually
from quick_clients import dotted, read_all

LINE = re.compile(r"Partition: (\d+)\tLeader: (\S+)\tReplicas: (\S+)\tIsr: (\S*)")
QUICK = ("replica.lag.time.max.ms=2000", "auto.leader.rebalance.enable=false")


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with cluster(tmp_path, *QUICK) as made:
        ClusterView(made.bootstrap).await_brokers(0, 1, 2)
        yield made


class Described:
    """The lines of `kafka-topics --describe`: leader, replicas and in-sync set by partition."""

    def __init__(self, three: ClusterProcesses, topic: str) -> None:
        command = [sys.executable, "-m", "barnabas.cli.main", "topics", "--describe"]
        command += ["--bootstrap-server", three.bootstrap, "--topic", topic]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        found = [each.groups() for each in LINE.finditer(ended.stdout)]
        self.leader = {int(index): leader for index, leader, _, _ in found}
        self.replicas = {int(index): replicas for index, _, replicas, _ in found}
        self.isr = {int(index): set(filter(None, isr.split(","))) for index, _, _, isr in found}


def create(
    three: ClusterProcesses, topic: str, partitions: int, factor: int, **config: str
) -> None:
    ClusterView(three.bootstrap).create(topic, partitions, factor, **config)


def send(three: ClusterProcesses, topic: str, *values: bytes, **config: object) -> list[str]:
    """Send to partition 0; the names of the errors that were told."""
    settings = {"bootstrap.servers": three.bootstrap, "linger.ms": 0, "log_level": 0}
    producer = Producer({**settings, **dotted(config)})
    errors: list[str] = []

    def told(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error.name())

    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=told)
    assert producer.flush(60) == 0
    return errors


def values(three: ClusterProcesses, topic: str, leader: int) -> list[bytes | None]:
    found = read_all(three.brokers[leader].bootstrap, topic, partition=0)
    return [message.value() for message in found]


def start(three: ClusterProcesses, number: int) -> None:
    three.brokers[number].start(same_port=True)


def test_partitions_whose_only_replica_is_down_have_no_leader(three: ClusterProcesses) -> None:
    create(three, "t", 6, 1)
    before = Described(three, "t")
    lost = {index for index, leader in before.leader.items() if leader == "2"}
    assert len(lost) == 2

    three.brokers[2].stop()

    now = Described(three, "t")
    assert {index for index, leader in now.leader.items() if leader == "none"} == lost
    assert now.replicas == before.replicas
    assert all(now.isr[index] == {"2"} for index in lost)
    start(three, 2)
    eventually(lambda: Described(three, "t").leader == before.leader, what="leaders as before")


def test_leaders_move_and_the_in_sync_set_shrinks_and_grows_but_leaders_stay(
    three: ClusterProcesses,
) -> None:
    create(three, "t", 6, 2)
    before = Described(three, "t")

    three.brokers[1].stop()

    now = Described(three, "t")
    assert "1" not in now.leader.values()
    assert "none" not in now.leader.values()
    assert now.replicas == before.replicas
    assert all(now.isr[index] == before.isr[index] - {"1"} for index in now.isr)
    start(three, 1)
    eventually(lambda: Described(three, "t").isr == before.isr, what="everybody in sync")
    assert Described(three, "t").leader == now.leader


def test_with_as_many_in_sync_as_replicas_wanted_one_that_stops_is_one_too_few(
    three: ClusterProcesses,
) -> None:
    create(three, "t", 1, 2, min_insync_replicas="2")
    leader, follower = map(int, Described(three, "t").replicas[0].split(","))
    assert send(three, "t", b"a") == []
    three.brokers[follower].stop()
    once = {"acks": "all", "retries": 0, "message_timeout_ms": 20_000}

    assert send(three, "t", b"b", **once) == ["NOT_ENOUGH_REPLICAS"]

    start(three, follower)
    ClusterView(three.bootstrap).await_isr("t", leader, follower)
    assert send(three, "t", b"c") == []
    assert values(three, "t", leader) == [b"a", b"c"]


def test_with_one_to_spare_producing_pauses_while_two_are_down_and_loses_nothing(
    three: ClusterProcesses,
) -> None:
    create(three, "t", 1, 3, min_insync_replicas="2")
    leader, second, third = map(int, Described(three, "t").replicas[0].split(","))
    for number in (second, third):
        three.brokers[number].stop()
    producer = Producer({"bootstrap.servers": three.bootstrap, "acks": "all", "log_level": 0})
    producer.produce("t", b"a", partition=0)
    assert producer.flush(1) == 1  # waits, and is not refused

    start(three, second)

    assert producer.flush(60) == 0
    start(three, third)
    ClusterView(three.bootstrap).await_isr("t", leader, second, third)
    assert values(three, "t", leader) == [b"a"]


def test_without_unclean_elections_a_partition_waits_for_who_was_in_sync_last(
    three: ClusterProcesses,
) -> None:
    last, other = last_in_sync(three, unclean="false")

    start(three, other)
    assert Described(three, "t").leader[0] == "none"
    start(three, last)

    eventually(lambda: Described(three, "t").leader[0] == str(last), what="its leader is back")
    assert values(three, "t", last) == [b"both", b"only one"]


def test_with_unclean_elections_exactly_what_only_the_last_one_had_is_lost(
    three: ClusterProcesses,
) -> None:
    last, other = last_in_sync(three, unclean="true")

    start(three, other)

    eventually(lambda: Described(three, "t").leader[0] == str(other), what="another leader")
    assert send(three, "t", b"after", acks=1) == []
    assert values(three, "t", other) == [b"both", b"after"]
    start(three, last)
    ClusterView(three.bootstrap).await_isr("t", last, other)
    assert values(three, "t", other) == [b"both", b"after"]


def last_in_sync(three: ClusterProcesses, *, unclean: str) -> tuple[int, int]:
    """A topic of two replicas that are both down: the one that was in sync last, and the other."""
    create(three, "t", 1, 2, unclean_leader_election_enable=unclean)
    last, other = map(int, Described(three, "t").replicas[0].split(","))
    assert send(three, "t", b"both", acks="all") == []
    three.brokers[other].stop()
    assert send(three, "t", b"only one", acks=1) == []
    three.brokers[last].kill()
    eventually(lambda: Described(three, "t").leader[0] == "none", what="nobody leads")
    return last, other

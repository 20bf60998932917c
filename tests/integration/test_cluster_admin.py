"""Replicas move, leaders are elected, brokers and topics go for good: what operators do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest
import tiny_disk
from cluster_processes import ClusterProcesses, cluster
from cluster_view import ClusterView
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from eventually import eventually
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from quick_clients import PATIENCE_S, read_all, send, values
from wire_client import WireClient

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with cluster(tmp_path) as started:
        yield started


@contextmanager
def admin_of(bootstrap: str) -> Iterator[KafkaAdminClient]:
    """kafka-python's."""
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap.split(","))) as admin:
        yield admin


def create(port: int, name: str, *partitions: list[int], **settings: str) -> None:
    """A topic whose replicas are exactly there."""
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
        for index, brokers in enumerate(partitions)
    ]
    topic = CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=assignments
    )
    with WireClient(port) as client:
        (made,) = client.call(CreateTopicsRequest(topics=[topic]), 7).topics
    assert made.error_code == 0, made.error_message


def read(cluster: ClusterProcesses, topic: str) -> list[bytes]:
    """All values of partition 0, from its leader."""
    running = next(b for b in cluster.brokers.values() if b.process and b.process.poll() is None)
    leader = ClusterView(running.bootstrap).leaders(topic)[0]
    return values(read_all(cluster.brokers[leader].bootstrap, topic))


def partition_folders(data_dir: Path, topic: str) -> set[str]:
    return {path.name for path in data_dir.glob(f"{topic}-[0-9]")}


class Load:
    """A producer that never rests: one record after the other, all acknowledged by all.

    Idempotent: what it has sent to a leader that then ceases to be one, it sends again.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: list[bytes] = []
        self.refused: list[str] = []
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "log_level": 0,
            }
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0

    def _run(self) -> None:
        for number in count():
            value = b"%d" % number
            self._producer.produce(self._topic, value, on_delivery=self._delivered)
            self._producer.poll(0.001)
            if self._is_over.is_set():
                return

    def _delivered(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged.append(message.value())  # type: ignore[attr-defined]
        else:
            self.refused.append(str(error))

    def await_more(self) -> None:
        """Until another hundred are acknowledged."""
        goal = len(self.acknowledged) + 100
        eventually(lambda: len(self.acknowledged) >= goal, what="acknowledged records")


def test_a_partition_moves_under_load_and_loses_nothing(three: ClusterProcesses) -> None:
    create(three.brokers[0].port, "t", [0, 1])
    moved = TopicPartition("t", 0)
    view = ClusterView(three.bootstrap)

    with Load(three.bootstrap, "t") as load, admin_of(three.bootstrap) as admin:
        load.await_more()
        assert admin.alter_partition_reassignments({moved: [2, 1]}) == {moved: None}
        eventually(lambda: not admin.list_partition_reassignments(), what="the end of the move")
        view.await_isr("t", 1, 2)
        load.await_more()

    assert load.refused == []
    assert read(three, "t") == load.acknowledged
    eventually(lambda: not partition_folders(three.brokers[0].data_dir, "t"))


def test_a_move_to_a_broker_that_is_down_can_be_cancelled(three: ClusterProcesses) -> None:
    create(three.brokers[0].port, "t", [0, 1])
    send(three.bootstrap, "t", [(None, b"1")], acks="all")
    moved = TopicPartition("t", 0)
    three.brokers[2].kill()
    ClusterView(three.brokers[0].bootstrap).await_brokers(0, 1)

    with admin_of(three.brokers[0].bootstrap) as admin:
        assert admin.alter_partition_reassignments({moved: [2, 0]}) == {moved: None}
        assert admin.list_partition_reassignments() == {
            moved: {"replicas": [2, 0, 1], "adding_replicas": [2], "removing_replicas": [1]}
        }
        assert admin.alter_partition_reassignments({moved: None}) == {moved: None}
        assert admin.list_partition_reassignments() == {}

    three.brokers[2].start(same_port=True)
    view = ClusterView(three.bootstrap)
    view.await_brokers(0, 1, 2)
    assert view.isr("t") == {0: {0, 1}}
    assert not partition_folders(three.brokers[2].data_dir, "t")


def test_a_topic_that_is_deleted_while_a_replica_is_away_does_not_come_back(
    three: ClusterProcesses,
) -> None:
    view = ClusterView(three.brokers[0].bootstrap)
    view.create("old")
    send(three.bootstrap, "old", [(None, b"of yesterday")], acks="all")
    three.brokers[2].kill()
    view.await_brokers(0, 1)
    admin = AdminClient({"bootstrap.servers": three.brokers[0].bootstrap})
    admin.delete_topics(["old"])["old"].result(PATIENCE_S)
    view.create("old", replicas=2)

    three.brokers[2].start(same_port=True)
    view.await_brokers(0, 1, 2)

    assert not partition_folders(three.brokers[2].data_dir, "old")
    assert "moved aside as ...-stray: old-0" in three.brokers[2].log
    assert read(three, "old") == []


def test_leaders_come_home_by_themselves(tmp_path: Path) -> None:
    with cluster(tmp_path, "leader.imbalance.check.interval.seconds=1") as three:
        create(three.brokers[0].port, "t", [2, 0], [2, 1], [1, 0])
        view = ClusterView(three.brokers[0].bootstrap)
        three.brokers[2].stop()
        eventually(lambda: view.leaders("t") == {0: 0, 1: 1, 2: 1}, what="other leaders")

        three.brokers[2].start(same_port=True)

        eventually(lambda: view.leaders("t") == {0: 2, 1: 2, 2: 1}, what="the first replicas lead")


def test_a_dead_broker_is_replaced_and_forgotten(three: ClusterProcesses) -> None:
    create(three.brokers[0].port, "t", [2, 0], [1, 2])
    send(three.bootstrap, "t", [(None, b"kept")], acks="all")
    view = ClusterView(three.brokers[0].bootstrap)
    three.brokers[2].kill()
    view.await_brokers(0, 1)

    with admin_of(three.brokers[0].bootstrap) as admin:
        moves = {TopicPartition("t", 0): [1, 0], TopicPartition("t", 1): [1, 0]}
        assert set(admin.alter_partition_reassignments(moves).values()) == {None}
        eventually(lambda: not admin.list_partition_reassignments(), what="the end of the moves")
    view.await_isr("t", 0, 1)
    with WireClient(three.brokers[1].port) as client:
        first, second = (client.call(UnregisterBrokerRequest(broker_id=2), 0) for _ in range(2))
    assert (first.error_code, second.error_code) == (0, ErrorCode.BROKER_ID_NOT_REGISTERED)

    assert read(three, "t") == [b"kept"]
    newcomer = three.broker(2, data="replacement")
    three.brokers[2] = newcomer
    newcomer.start()
    view.await_brokers(0, 1, 2)


def test_an_unclean_leader_by_hand_loses_what_only_the_dead_had(three: ClusterProcesses) -> None:
    create(three.brokers[0].port, "t", [2, 1])
    send(three.bootstrap, "t", [(None, b"on both")], acks="all")
    three.brokers[1].kill()
    view = ClusterView(three.brokers[0].bootstrap)
    view.await_isr("t", 2)
    send(three.bootstrap, "t", [(None, b"on one")], acks="1")
    three.brokers[2].kill()
    three.brokers[1].start(same_port=True)
    eventually(lambda: view.leaders("t") == {0: -1}, what="no leader")

    with admin_of(three.brokers[0].bootstrap) as admin:
        admin.elect_leaders(UNCLEAN, {"t": [0]})

    eventually(lambda: view.leaders("t") == {0: 1}, what="an unclean leader")
    assert read(three, "t") == [b"on both"]
    three.brokers[2].start(same_port=True)
    view.await_isr("t", 1, 2)
    assert read(three, "t") == [b"on both"]


def test_what_is_in_a_failed_log_directory_is_led_by_others(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=2) as two:
        broker = two.broker(2, f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}")
        broker.wrapper = ("prlimit", f"--fsize={1 << 20}")  # beyond it the kernel refuses to write
        with broker:
            create(broker.port, "t", [2, 0], [2, 0])
            view = ClusterView(two.brokers[0].bootstrap)
            view.await_isr("t", 0, 2)
            (bad,) = (int(path.name[-1]) for path in (tmp_path / "b").glob("t-[0-9]"))
            megabyte = [(None, bytes(100_000))] * 11
            send(two.bootstrap, "t", megabyte, partition=bad, acks="all")

            eventually(lambda: view.leaders("t") == {bad: 0, 1 - bad: 2}, what="another leader")
            assert f"{tmp_path / 'b'} failed" in broker.log
            send(two.bootstrap, "t", [(None, b"x")], partition=1 - bad, acks="all")
            found = read_all(two.brokers[0].bootstrap, "t", partition=bad)
            assert len(found) >= len(megabyte), "what was acknowledged is there"


@pytest.mark.skipif(bool(tiny_disk.why_not()), reason="no disk of our own")
def test_a_partition_whose_leaders_disk_is_full_is_led_by_another_until_there_is_room(
    tmp_path: Path,
) -> None:
    disk = tiny_disk.TinyDisk(tmp_path / "disk", kib=6 * 1024)
    with disk, cluster(tmp_path, "replica.lag.time.max.ms=1000", brokers=2) as two:
        filler = disk.seen_from_here / "filler"
        filler.write_bytes(bytes(3 << 20))
        small = two.broker(2, f"log.dirs={disk.path / 'data'}")
        small.wrapper = disk.wrapper
        with small:
            create(small.port, "t", [2, 0, 1])
            view = ClusterView(two.bootstrap)
            view.await_isr("t", 0, 1, 2)
            megabytes = [(None, b"%d:" % number + bytes(10_000)) for number in range(500)]
            send(two.bootstrap, "t", megabytes, acks="all")

            leader = view.leaders("t")[0]
            assert leader in {0, 1}
            filler.unlink()
            view.await_isr("t", 0, 1, 2)
            found = values(read_all(two.brokers[leader].bootstrap, "t"))
            assert set(found) == {value for _, value in megabytes}, "nothing is lost"


def test_a_broker_starts_with_the_log_directories_that_are_not_broken(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=1) as one:
        places = [tmp_path / "a", tmp_path / "b"]
        broker = one.broker(1, f"log.dirs={places[0]},{places[1]}")
        broker.start()
        create(broker.port, "t", [1], [1])
        broker.stop()
        (lost,) = (int(path.name[-1]) for path in places[0].glob("t-[0-9]"))
        places[0].rename(tmp_path / "away")
        places[0].write_text("a file where a directory was")
        with broker:
            assert f"{places[0]} failed" in broker.log
            view = ClusterView(one.brokers[0].bootstrap)
            eventually(lambda: view.leaders("t") == {lost: -1, 1 - lost: 1}, what="half of it")

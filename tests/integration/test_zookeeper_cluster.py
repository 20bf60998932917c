"""Three brokers and a ZooKeeper, all real processes: elections, failovers, outages."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from cluster_view import ClusterView
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from eventually import eventually
from kazoo.client import KazooClient
from zookeeper_cluster import PATH, ZooKeeperCluster, zookeeper_cluster

PATIENCE_S = 60
ALL = (0, 1, 2)


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ZooKeeperCluster]:
    with zookeeper_cluster(tmp_path) as made:
        yield made


@pytest.fixture
def view(three: ZooKeeperCluster) -> ClusterView:
    return ClusterView(three.bootstrap)


class Load:
    """A producer that sends numbers, one after the other, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acknowledged: set[bytes] = set()
        self.errors: list[KafkaError] = []
        self._topic = topic
        self._partitions = partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 2,
                "log_level": 0,
                "retry.backoff.ms": 20,
            }
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _send(self) -> None:
        number = 0
        while not self._stop.is_set():
            self._producer.produce(
                self._topic,
                b"%d" % number,
                partition=number % self._partitions,
                callback=self._told,
            )
            self._producer.poll(0.002)
            number += 1
        assert self._producer.flush(PATIENCE_S) == 0

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.acknowledged.add(message.value() or b"")

    def await_more(self, count: int = 100) -> None:
        """Return when so many more were acknowledged."""
        wanted = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= wanted, timeout_s=PATIENCE_S)


def read_all(bootstrap: str, topic: str, partitions: int) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "r",
            "enable.auto.commit": False,
            "log_level": 0,
            "enable.partition.eof": True,
        }
    )
    found: list[bytes] = []
    ended: set[int] = set()
    try:
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])

        def at_the_end() -> bool:
            for message in consumer.consume(1000, timeout=0.2):
                error = message.error()
                if error is None:
                    found.append(message.value() or b"")
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
            return len(ended) == partitions

        eventually(at_the_end, timeout_s=PATIENCE_S)
    finally:
        consumer.close()
    return found


def check(load: Load, bootstrap: str) -> None:
    """Nothing that was acknowledged is lost, and nothing is there twice."""
    assert load.errors == []
    found = read_all(bootstrap, "t", 3)
    assert load.acknowledged <= set(found)
    assert len(found) == len(set(found))


def test_what_people_look_for_in_zookeeper_is_there(three: ZooKeeperCluster) -> None:
    assert three.look("/controller")["brokerid"] in ALL
    assert three.look("/controller_epoch") == 1
    assert len(three.look("/cluster/id")["id"]) == 22
    for number, broker in three.brokers.items():
        entry = eventually(lambda number=number: three.look(f"/brokers/ids/{number}"))
        assert (entry["version"], entry["host"], entry["port"]) == (5, "127.0.0.1", broker.port)
        assert entry["endpoints"] == [f"PLAINTEXT://127.0.0.1:{broker.port}"]
    three.brokers[2].stop()
    eventually(lambda: three.look("/brokers/ids/2") is None)


def test_a_killed_controller_is_replaced_and_nothing_acknowledged_is_lost(
    three: ZooKeeperCluster, view: ClusterView
) -> None:
    view.create("t", partitions=3, min_insync_replicas="2")
    with Load(three.bootstrap, "t", 3) as load:
        load.await_more()
        first = three.controller()
        three.brokers[first].kill()
        three.await_other_controller(first)
        load.await_more()
        view.create("while-it-is-away", replicas=2)
        three.brokers[first].start(same_port=True)
        view.await_isr("t", *ALL)
        second = three.controller()
        three.brokers[second].kill()
        three.await_other_controller(second)
        load.await_more()
        three.brokers[second].start(same_port=True)
        view.await_isr("t", *ALL)
    assert three.look("/controller_epoch") == 3
    check(load, three.bootstrap)


def test_a_rolling_restart_moves_the_controller_and_no_client_sees_an_error(
    three: ZooKeeperCluster, view: ClusterView
) -> None:
    view.create("t", partitions=3, min_insync_replicas="2")
    with Load(three.bootstrap, "t", 3) as load:
        for broker in three.brokers.values():
            load.await_more()
            broker.stop()
            load.await_more()
            broker.start(same_port=True)
            view.await_isr("t", *ALL)
    check(load, three.bootstrap)


def test_without_zookeeper_producing_and_consuming_go_on(
    three: ZooKeeperCluster, view: ClusterView
) -> None:
    view.create("t", partitions=3, min_insync_replicas="2")
    leaders = view.leaders("t")
    with Load(three.bootstrap, "t", 3) as load:
        load.await_more()
        three.zookeeper.kill()
        load.await_more()
        # What needs the journal waits, and does not keep anybody else waiting.
        creating = threading.Thread(target=view.create, args=["meanwhile"])
        creating.start()
        load.await_more(1500)
        three.zookeeper.start()
        creating.join(PATIENCE_S)
        assert not creating.is_alive()
        load.await_more()
    check(load, three.bootstrap)
    assert view.leaders("t") == leaders, "nobody was fenced"
    assert set(view.leaders("meanwhile").values()) <= set(ALL)
    assert three.look("/controller_epoch") == 1, "the session goes on"


def test_a_controller_that_was_stopped_and_comes_back_finds_another_in_its_place(
    tmp_path: Path,
) -> None:
    quick = ("zookeeper.session.timeout.ms=1500", "broker.session.timeout.ms=2000")
    with zookeeper_cluster(tmp_path, *quick) as three:
        view = ClusterView(three.bootstrap)
        view.create("t", partitions=3, min_insync_replicas="2")
        with Load(three.bootstrap, "t", 3) as load:
            load.await_more()
            first = three.controller()
            os.kill(three.brokers[first].pid, signal.SIGSTOP)
            try:
                three.await_other_controller(first)
                load.await_more()
            finally:
                os.kill(three.brokers[first].pid, signal.SIGCONT)
            view.await_isr("t", *ALL)
            load.await_more()
        check(load, three.bootstrap)
        eventually(lambda: "not the controller any more" in three.brokers[first].log)
        view.create("after")


def test_a_second_broker_of_the_same_id_is_refused_in_one_line(tmp_path: Path) -> None:
    quick = ("broker.session.timeout.ms=2000", "broker.heartbeat.interval.ms=200")
    with zookeeper_cluster(tmp_path, *quick, brokers=2) as two:
        for taken in two.brokers:  # the controller's own is one of them
            ended = subprocess.run(
                two.broker(taken, data=f"another-{taken}").command(),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ended.returncode == 1
            assert ended.stderr.splitlines() == [
                (
                    f"error: another process is broker {taken} of this cluster. "
                    "Give this one another node.id."
                )
            ]
        ClusterView(two.bootstrap).create("t", replicas=2)


def test_data_of_another_cluster_is_refused_in_one_line(tmp_path: Path) -> None:
    with zookeeper_cluster(tmp_path, brokers=1) as one:
        data = tmp_path / "other" / "meta.properties"
        data.parent.mkdir()
        data.write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=5\n")
        ended = subprocess.run(
            one.broker(5, data="other").command(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert "AAAAAAAAAAAAAAAAAAAAAA" in line
        assert one.look("/cluster/id")["id"] in line


def test_a_broker_with_another_path_than_before_is_refused_and_keeps_what_it_has(
    tmp_path: Path,
) -> None:
    with zookeeper_cluster(tmp_path, brokers=1) as one:
        ClusterView(one.bootstrap).create("t", replicas=1)
        one.brokers[0].stop()
        elsewhere = one.broker(0, f"zookeeper.connect={one.zookeeper.address}/kafak")
        ended = subprocess.run(
            elsewhere.command(), capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert "zookeeper.connect" in line
        one.brokers[0].start(same_port=True)
        view = ClusterView(one.bootstrap)
        eventually(lambda: view.leaders("t") == {0: 0})
        assert not list(one.brokers[0].data_dir.glob("*-stray"))


def test_a_node_that_was_a_cluster_of_its_own_grows_with_all_it_has(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path / "broker-1", "node.id=1") as alone:
        ClusterView(alone.bootstrap).create("t", partitions=3, replicas=1)
        with Load(alone.bootstrap, "t", 3) as load:
            load.await_more()
        alone.kill()
    with zookeeper_cluster(tmp_path, "offsets.topic.replication.factor=2", brokers=0) as grown:
        for number in (1, 2):
            broker = grown.brokers[number] = grown.broker(number)
            broker.start()
        try:
            check(load, grown.bootstrap)
            ClusterView(grown.bootstrap).create("more", replicas=2)
            for broker in grown.brokers.values():
                broker.stop()
                broker.start(same_port=True)
            assert "in ZooKeeper now" in grown.brokers[1].log
            assert grown.brokers[1].log.count("in ZooKeeper now") == 1
            check(load, grown.bootstrap)
        finally:
            for broker in grown.brokers.values():
                broker.stop()
        alone = BarnabasProcess(tmp_path / "broker-1", "node.id=1")
        ended = subprocess.run(
            alone.command(), capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 1, "its own metadata is history"
        assert "zookeeper.connect" in ended.stderr


def test_a_node_with_topics_does_not_join_those_who_know_nothing_of_them(tmp_path: Path) -> None:
    with zookeeper_cluster(tmp_path, brokers=1) as one:
        cluster_id = one.look("/cluster/id")["id"]
        data = tmp_path / "alone"
        data.mkdir()
        (data / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id=5\n")
        with BarnabasProcess(data, "node.id=5") as alone:
            ClusterView(alone.bootstrap).create("t", replicas=1)
        ended = subprocess.run(
            one.broker(5, data="alone").command(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert "cluster of its own" in line
        with BarnabasProcess(data, "node.id=5") as alone:
            view = ClusterView(alone.bootstrap)
            eventually(lambda: view.leaders("t") == {0: 5})


def test_with_credentials_the_journal_is_not_for_others(tmp_path: Path) -> None:
    secured = ("zookeeper.set.acl=true", "zookeeper.digest.auth=barnabas:secret")
    with zookeeper_cluster(tmp_path, *secured, brokers=1) as one:
        ClusterView(one.bootstrap).create("t", replicas=1)
        assert entries_for(one.client) == []
        assert one.look("/brokers/ids/0") is not None
        one.client.add_auth("digest", "barnabas:secret")
        assert entries_for(one.client) != []
        acls, _ = one.client.get_acls(f"{PATH}/barnabas/head")
        assert [acl.id.scheme for acl in acls] == ["digest"]
        assert "secret" not in one.brokers[0].log


def entries_for(client: KazooClient) -> list[str]:
    """The entries of the journal that this client may list."""
    from kazoo.exceptions import NoAuthError

    try:
        names: list[str] = client.get_children(f"{PATH}/barnabas/log")
    except NoAuthError:
        return []
    return names

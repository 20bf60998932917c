"""Every process of a cluster is restarted in turn while default clients go on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from cluster_processes import ClusterProcesses, cluster
from cluster_view import ClusterView
from confluent_kafka import Producer
from quick_clients import read_all

PARTITIONS = 3


class Load:
    """A producer with its default settings (but for idempotence) that sends until told to stop."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._topic = topic
        self._stop = threading.Event()
        self.acknowledged: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
        self.errors: list[Any] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            self._producer.produce(
                self._topic,
                b"%d" % number,
                partition=number % PARTITIONS,
                on_delivery=self._delivered,
            )
            number += 1
            self._producer.poll(0.002)

    def _delivered(self, error: object, message: Any) -> None:
        if error is None:
            self.acknowledged[message.partition()].append(message.value())
        else:
            self.errors.append(error)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0


def restart_in_turn(three: ClusterProcesses, view: ClusterView, *, cleanly: bool) -> None:
    for broker in three.brokers.values():
        if cleanly:
            broker.stop()
        else:
            broker.kill()
        broker.start(same_port=True)
        view.await_isr("t", 0, 1, 2)
    if cleanly:
        three.controller.stop()
    else:
        three.controller.kill()
    three.start_controller()
    view.await_brokers(0, 1, 2)


def check(tmp_path: Path, *, cleanly: bool) -> None:
    with cluster(tmp_path) as three:
        view = ClusterView(three.bootstrap)
        view.create("t", partitions=PARTITIONS, min_insync_replicas="2")
        load = Load(three.bootstrap, "t")
        try:
            restart_in_turn(three, view, cleanly=cleanly)
        finally:
            load.stop()
        assert load.errors == []
        view.await_isr("t", 0, 1, 2)
        leaders = view.leaders("t")
        for partition, acknowledged in load.acknowledged.items():
            there = read_all(three.brokers[leaders[partition]].bootstrap, "t", partition=partition)
            assert [message.value() for message in there] == acknowledged
            assert acknowledged


def test_a_rolling_restart_reaches_no_client_and_loses_doubles_and_reorders_nothing(
    tmp_path: Path,
) -> None:
    check(tmp_path, cleanly=True)


def test_processes_killed_in_turn_lose_double_and_reorder_nothing(tmp_path: Path) -> None:
    check(tmp_path, cleanly=False)

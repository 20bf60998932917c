"""Brokers of a cluster come, vanish, leave and are refused; each a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from cluster_processes import ClusterProcesses, cluster
from cluster_view import ClusterView
from eventually import eventually
from quick_clients import alter, describe, read_all, send, values

PAIRS = [(str(number).encode(), b"value %d" % number) for number in range(100)]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def test_clients_are_told_of_every_broker_and_a_topic_spreads_over_them(
    three: ClusterProcesses,
) -> None:
    view = ClusterView(three.brokers[1].bootstrap)
    view.await_brokers(0, 1, 2)

    view.create("spread", partitions=6, replicas=2)

    assert set(view.leaders("spread").values()) == {0, 1, 2}
    assert all(len(isr) == 2 for isr in view.isr("spread").values())


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_what_a_broker_has_said_is_created_it_can_be_asked_for_at_once(
    three: ClusterProcesses, asked: int
) -> None:
    view = ClusterView(three.brokers[asked].bootstrap)

    for number in range(10):
        view.create(f"at-once-{asked}-{number}", partitions=2, replicas=1)
        assert set(view.leaders(f"at-once-{asked}-{number}")) == {0, 1}


def test_a_setting_that_one_broker_was_told_is_every_brokers(three: ClusterProcesses) -> None:
    ClusterView(three.bootstrap).create("configured")

    alter(three.brokers[0].bootstrap, "topic", "configured", retention_ms="12345")

    for broker in three.brokers.values():
        eventually(
            lambda at=broker.bootstrap: (
                describe(at, "topic", "configured")["retention.ms"].value  # type: ignore[misc]
                == "12345"
            )
        )


def test_a_broker_that_is_killed_is_fenced_long_before_its_session_ends_and_comes_back(
    tmp_path: Path,
) -> None:
    with cluster(tmp_path, "broker.session.timeout.ms=600000") as three:
        view = ClusterView(three.bootstrap)
        view.create("t", partitions=3)
        acknowledged = send(three.bootstrap, "t", PAIRS, acks="all")
        victim = view.leaders("t")[0]

        three.brokers[victim].kill()

        others = {0, 1, 2} - {victim}
        view.await_brokers(*others)
        view.await_isr("t", *others)
        assert victim not in view.leaders("t").values()
        survivor = three.brokers[min(others)].bootstrap
        leader = three.brokers[view.leaders("t")[0]].bootstrap
        assert values(read_all(leader, "t")) == [message.value() for message in acknowledged]
        send(survivor, "t", PAIRS, acks="all")

        three.brokers[victim].start(same_port=True)
        view.await_isr("t", 0, 1, 2)


def test_a_broker_that_is_stopped_hands_over_first_and_no_client_sees_an_error(
    tmp_path: Path,
) -> None:
    with cluster(tmp_path) as three:
        view = ClusterView(three.bootstrap)
        view.create("t", partitions=3)
        leaving = view.leaders("t")[0]

        log = three.brokers[leaving].stop()

        assert "without the controller's knowledge" not in log
        others = {0, 1, 2} - {leaving}
        survivor = ClusterView(three.brokers[min(others)].bootstrap)
        assert survivor.brokers() == others
        assert leaving not in survivor.leaders("t").values()
        assert -1 not in survivor.leaders("t").values()
        send(three.brokers[min(others)].bootstrap, "t", PAIRS, acks="all", retries=0)


def test_a_second_process_with_the_same_id_is_refused_in_one_line(tmp_path: Path) -> None:
    short = ("broker.session.timeout.ms=2000", "broker.heartbeat.interval.ms=200")
    with cluster(tmp_path, *short, brokers=1) as one:
        double = one.broker(0, data="double")

        refused = subprocess.run(
            double.command(), capture_output=True, text=True, timeout=60, check=False
        )

        assert refused.returncode == 1
        assert refused.stderr == (
            "error: another process is broker 0 of this cluster. Give this one another node.id.\n"
        )
        ClusterView(one.bootstrap).create("still-there", replicas=1)


def test_log_directories_of_another_cluster_are_refused_in_one_line(tmp_path: Path) -> None:
    with cluster(tmp_path / "one", brokers=1) as one:
        one.brokers[0].stop()
        with cluster(tmp_path / "two", brokers=0) as two:
            two.brokers[0] = two.broker(0)
            two.brokers[0].data_dir = one.brokers[0].data_dir
            refused = subprocess.run(
                two.brokers[0].command(), capture_output=True, text=True, timeout=60, check=False
            )

    assert refused.returncode == 1
    assert re.fullmatch(
        r"error: the log directories belong to cluster \S+, the controller to \S+\n",
        refused.stderr,
    )


def test_a_broker_of_a_cluster_does_not_start_on_its_own(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=1) as one:
        broker = one.brokers[0]
        ClusterView(broker.bootstrap).create("t", replicas=1)
        broker.stop()
        alone = BarnabasProcess(broker.data_dir, "node.id=0")
        refused = subprocess.run(
            alone.command(), capture_output=True, text=True, timeout=60, check=False
        )
        assert refused.returncode == 1
        (line,) = refused.stderr.splitlines()
        assert "has partitions" in line
        broker.start(same_port=True)
        view = ClusterView(broker.bootstrap)
        eventually(lambda: view.leaders("t") == {0: 0})


def test_a_broker_waits_for_its_controller_and_says_so(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=0) as nobody:
        nobody.controller.stop()
        broker = nobody.broker(0)
        waiting = subprocess.Popen(broker.command(), stdout=subprocess.PIPE, text=True)
        assert waiting.stdout is not None
        with waiting.stdout as lines:
            assert "waiting for a controller at 127.0.0.1" in next(lines)
            nobody.start_controller()
            assert "started: broker 0" in next(lines)
            waiting.send_signal(signal.SIGTERM)
            assert waiting.wait(30) == 0


def test_a_broker_that_is_sent_to_a_broker_says_so_and_tries_the_next(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=1) as one:
        first, controller = one.brokers[0].bootstrap, one.controller.bootstrap
        with one.broker(1, f"controller.quorum.bootstrap.servers={first},{controller}") as second:
            assert f"{first} is a broker's listener, not a controller's" in second.log


def test_a_broker_that_waits_for_its_controller_can_be_stopped(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=0) as nobody:
        nobody.controller.stop()
        waiting = subprocess.Popen(
            nobody.broker(0).command(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert waiting.stdout is not None
        with waiting.stdout as lines:
            assert "waiting for a controller" in next(lines)
            waiting.send_signal(signal.SIGTERM)
            assert "stopped: broker 0, before it had started" in next(lines)
            assert list(lines) == []
        assert waiting.wait(30) == 0

"""Every pipeline on a standalone Spark cluster, and a broker that is killed in the middle of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_processes import ClusterProcesses, cluster
from eventually import eventually
from harness.spark_standalone import StandaloneSpark
from pipeline_rounds import PARTITIONS, Sent, check_lake, read_committed

RECORDS = 60_000
SMALL = (
    *("--spark-conf", "spark.driver.host=127.0.0.1"),
    *("--spark-conf", "spark.executor.memory=512m"),
)
PATIENCE_S = 400


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with StandaloneSpark(tmp_path_factory.mktemp("spark")) as spark:
        yield spark.master


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    settings = (
        "default.replication.factor=3",
        "offsets.topic.replication.factor=3",
        "transaction.state.log.replication.factor=3",
        "min.insync.replicas=2",
        "broker.session.timeout.ms=6000",
    )
    with cluster(tmp_path_factory.mktemp("brokers"), *settings) as made:
        yield made


def make_topics(brokers: ClusterProcesses, *names: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": brokers.bootstrap})
    wanted = [NewTopic(name, PARTITIONS, 3) for name in names]
    for future in admin.create_topics(wanted).values():
        future.result(60)


def pipeline(folder: Path, master: str, brokers: ClusterProcesses, *arguments: str) -> list[str]:
    return [
        *(sys.executable, "-m", "barnabas.cli.main", "pipeline", *arguments),
        *("--master", master, "--bootstrap-server", brokers.bootstrap, *SMALL),
        *("--metrics", str(folder / f"{arguments[0]}.jsonl")),
    ]


def run_while_a_broker_dies(
    folder: Path, master: str, brokers: ClusterProcesses, victim: int, *arguments: str
) -> None:
    metrics = folder / f"{arguments[0]}.jsonl"
    process = subprocess.Popen(
        pipeline(folder, master, brokers, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    )
    try:
        eventually(
            lambda: metrics.exists() or process.poll() is not None,
            timeout_s=PATIENCE_S,
            what="a first batch",
        )
        assert process.poll() is None, process.communicate()[0]
        brokers.brokers[victim].kill()
        said, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        brokers.brokers[victim].start(same_port=True)


def compare_without_a_broker(
    folder: Path, master: str, brokers: ClusterProcesses, sent: str, received: str
) -> None:
    """The others have all records, and lead all partitions after a moment."""
    brokers.brokers[0].kill()
    try:
        done = reconcile(folder, master, "--bootstrap-server", brokers.bootstrap, sent, received)
    finally:
        brokers.brokers[0].start(same_port=True)
    assert done.returncode == 0, done.stdout + done.stderr


def reconcile(folder: Path, master: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The last two arguments are what was sent and what was received."""
    *others, sent, received = arguments
    return subprocess.run(
        [
            *(sys.executable, "-m", "barnabas.cli.main", "pipeline", "reconcile", *others),
            *("--sent", sent, "--received", received, "--master", master, *SMALL),
            *("--to", str(folder / "found")),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.timeout(1500)
def test_every_pipeline_outlives_a_broker(
    tmp_path: Path, master: str, brokers: ClusterProcesses
) -> None:
    make_topics(brokers, "orders", "orders-again", "orders-copied")
    sent = Sent("orders")
    sent.send(brokers.bootstrap, RECORDS)
    lake = str(tmp_path / "lake")
    share = ("--max-offsets-per-trigger", str(RECORDS // 12))

    run_while_a_broker_dies(
        *(tmp_path, master, brokers, 0, "archive", "--topic", "orders", "--to", lake, "--once"),
        *share,
    )
    check_lake(Path(lake), sent)

    run_while_a_broker_dies(
        *(tmp_path, master, brokers, 1, "transform", "--topic", "orders", "--once", *share),
        *("--from-format", "text", "--to-format", "text", "--to", "orders-copied"),
        *("--query", "SELECT _key AS key, _partition AS partition, value FROM orders"),
        *("--checkpoint", str(tmp_path / "transform")),
    )
    run_while_a_broker_dies(
        *(tmp_path, master, brokers, 2, "replay", "--lake", lake),
        *("--rename", "orders=orders-again", "--checkpoint", str(tmp_path / "replay")),
        *("--offsets-per-batch", str(RECORDS // PARTITIONS // 8)),
    )

    expected = {
        number: [value for (place, _), value in sorted(sent.values.items()) if place == number]
        for number in range(PARTITIONS)
    }
    assert read_committed(brokers.bootstrap, "orders-copied") == expected
    assert read_committed(brokers.bootstrap, "orders-again") == expected
    compare_without_a_broker(tmp_path, master, brokers, "topic:orders", f"lake:{lake}")


@pytest.mark.timeout(600)
def test_logs_are_compared_on_a_cluster(tmp_path: Path, master: str) -> None:
    lines = [f"t,{number % 3},{number},value {number}\n" for number in range(30_000)]
    (tmp_path / "sent.log").write_text("".join(lines))
    (tmp_path / "received.log").write_text("".join(lines[:100] + lines[101:]))

    done = reconcile(tmp_path, master, "sent.log", "received.log")

    assert done.returncode == 1, done.stderr
    assert f"t-1 100: sent {tmp_path}/sent.log:101" in done.stdout, done.stdout + done.stderr

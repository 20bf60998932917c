"""`kafka-replica-verification` finds what ReplicaVerificationTool finds, on three brokers.

Theirs names a partition `t-0`; ours `[t,0]`, as people's notes have it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import transcript as tools
from harness.clusters import ApacheCluster, BarnabasCluster, Cluster
from harness.jvm import Jvm, program
from harness.processes import Child
from harness.side_by_side import BIN
from harness.transcript import run_step, step

KINDS: dict[str, type[Cluster]] = {"apache": ApacheCluster, "barnabas": BarnabasCluster}
COUNT = 500
SENT = f"--num-records {COUNT} --record-size 100 --throughput -1"
REPORT = re.compile(
    rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d{{3}}: "
    rf"(max lag is 0 for partition \S+ at offset {COUNT} among 1 partitions)"
)


@pytest.fixture(scope="module", params=KINDS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    made = KINDS[request.param](tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.discard()


def report_of(command: list[str | Path], folder: Path, name: str) -> str:
    """What it says when all is compared."""
    child = Child(command, log_path=folder / f"{name}.log", cwd=folder)
    try:
        child.wait_until(lambda: REPORT.search(child.log_text()) is not None, what=name, seconds=90)
    finally:
        child.kill()
    found = REPORT.search(child.log_text())
    assert found is not None
    assert "unmatched" not in child.log_text()
    assert re.search(r"(?m)^\S+ \S+: verification process is started$", child.log_text())
    return re.sub(r"\[(\S+),(\d+)\]", r"\1-\2", found[1])


def test_replicas_that_are_the_same_are_told_alike(
    jvm: Jvm, cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    create = f"--bootstrap-server {{bootstrap}} --create --topic {topic} --replica-assignment 1:2:3"
    assert run_step(jvm, cluster, step(tools.TOPICS, create)).status == 0
    cluster.await_in_sync(topic)
    subprocess.run(
        [
            BIN / "kafka-producer-perf-test",
            "--bootstrap-server",
            cluster.bootstrap,
            "--topic",
            topic,
            *SENT.split(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    arguments = ["--broker-list", cluster.bootstrap, "--topics-include", topic]
    arguments += ["--time", "-2", "--report-interval-ms", "200", "--max-wait-ms", "100"]

    mine = report_of([BIN / "kafka-replica-verification", *arguments], tmp_path, "ours")
    java = report_of([*program(tools.VERIFY_REPLICAS), *arguments], tmp_path, "theirs")

    assert (
        mine == java == f"max lag is 0 for partition {topic}-0 at offset {COUNT} among 1 partitions"
    )

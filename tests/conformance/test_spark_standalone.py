"""On a standalone Spark cluster, with a broker that dies in the middle: every record, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from eventually import eventually
from harness.clusters import BarnabasCluster
from harness.paths import ROOT
from harness.spark_standalone import StandaloneSpark
from pipeline_rounds import PARTITIONS, read_committed
from topic_records import produce

RECORDS = 60_000
PER_BATCH = 6_000


def create(bootstrap: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(each, PARTITIONS, 3) for each in topics]).values():
        future.result(60)


def test_a_leader_dies_while_a_topic_is_copied(
    barnabas_cluster: BarnabasCluster, topic: str, tmp_path: Path
) -> None:
    source, copy = f"{topic}-in", f"{topic}-out"
    create(barnabas_cluster.bootstrap, source, copy)
    records = [{"key": b"%d" % i, "value": b"%d" % i} for i in range(RECORDS)]
    produce(barnabas_cluster.bootstrap, source, records)
    commits = tmp_path / "checkpoint" / "commits"

    with StandaloneSpark(tmp_path) as spark, (tmp_path / "driver.log").open("wb") as log:
        driver = subprocess.Popen(
            [
                *(sys.executable, str(ROOT / "tests" / "support" / "spark_copy.py"), spark.master),
                *(barnabas_cluster.bootstrap, source, copy),
                *(str(tmp_path / "checkpoint"), str(PER_BATCH)),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            eventually(lambda: (commits / "1").exists() or driver.poll() is not None, timeout_s=240)
            barnabas_cluster.nodes[2].kill()
            status = driver.wait(280)
        finally:
            driver.kill()
            driver.wait()

    assert status == 0, (tmp_path / "driver.log").read_text()[-4000:]
    by_partition = read_committed(barnabas_cluster.addresses()[0], copy)
    found = sorted(int(value) for values in by_partition.values() for value in values)
    assert found == list(range(RECORDS))

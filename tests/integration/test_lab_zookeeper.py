"""A lab's cluster on ZooKeeper: brokers that are cut off from whoever leads the cluster."""

from __future__ import annotations

from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.faults.gate import ZOOKEEPER_ID

PATIENCE_S = 60


def test_a_broker_that_is_cut_from_the_controller_is_out_until_the_cut_is_lifted() -> None:
    with LabCluster(2, zookeeper=True) as cluster:
        (controller,) = cluster.controllers() - {ZOOKEEPER_ID}
        (other,) = set(cluster.brokers) - {controller}
        cluster.create_topic("t")

        with cluster.faults.cut_controller(other) as cut:
            gone = lambda: cluster.live_brokers() == {controller}
            cluster.wait(gone, PATIENCE_S, f"cluster of {controller} alone")
            assert cut.hits > 0

        cluster.wait_in_sync("t")
        assert cluster.live_brokers() == {1, 2}

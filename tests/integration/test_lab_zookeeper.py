"""A lab's cluster on ZooKeeper: brokers that are cut off from whoever leads the cluster."""

from __future__ import annotations

from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.faults.gate import ZOOKEEPER_ID
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse

PATIENCE_S = 60


def test_a_broker_that_is_cut_from_the_controller_is_out_until_the_cut_is_lifted() -> None:
    with LabCluster(2, zookeeper=True) as cluster:
        (controller,) = cluster.controllers() - {ZOOKEEPER_ID}
        (other,) = set(cluster.brokers) - {controller}
        cluster.create_topic("t")

        with cluster.faults.cut_controller(other) as cut:
            await_only(cluster, controller)
            assert cut.hits > 0

        cluster.wait_in_sync("t")
        assert cluster.live_brokers() == {1, 2}


def await_only(cluster: LabCluster, broker: int) -> None:
    """As this broker sees it: the other one knows nothing of its misfortune."""
    request = MetadataRequest(topics=[])

    def is_alone() -> bool:
        answer = cluster.eyes.ask(broker, lambda there: there.call(request, MetadataResponse))
        return {each.node_id for each in answer.brokers} == {broker}

    cluster.wait(is_alone, PATIENCE_S, f"cluster of {broker} alone")

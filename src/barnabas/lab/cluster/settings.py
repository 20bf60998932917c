"""What the nodes of a lab's cluster are told.  Pure: ports in, settings out."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.lab.faults.gate import CONTROLLER_ID, HOST

QUICK = {
    "controller.quorum.request.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "6000",
    "zookeeper.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
}
"""Nobody waits long to be found dead, or for others to join; a busy machine is not yet dead."""

ZOOKEEPER_ROOT = "/lab"
PROTOCOLS = "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT"


def common_settings(brokers: int) -> dict[str, str]:
    """Of every broker, unless the experiment says otherwise: internal topics as small as can be,
    and with as many replicas as there may be."""
    replicas, in_sync = str(min(3, brokers)), str(min(2, brokers))
    partitions = str(min(3, brokers))
    return {
        **QUICK,
        "offsets.topic.num.partitions": partitions,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": partitions,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": partitions,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def listener_settings(
    *, clients: int, clients_gate: int, brokers: int, brokers_gate: int
) -> dict[str, str]:
    """A broker listens on its own ports and tells everybody those of the gates."""
    return {
        "listeners": f"CLIENTS://{HOST}:{clients},BROKERS://{HOST}:{brokers}",
        "advertised.listeners": (
            f"CLIENTS://{HOST}:{clients_gate},BROKERS://{HOST}:{brokers_gate}"
        ),
        "listener.security.protocol.map": PROTOCOLS,
        "inter.broker.listener.name": "BROKERS",
    }


def place_settings(
    node: int, *, controller_gate: int | None, zookeeper_gate: int | None
) -> dict[str, str]:
    """Who it is, and where its controller is: behind a gate, in ZooKeeper's hands, or itself."""
    if zookeeper_gate is not None:
        return {
            "broker.id": str(node),
            "zookeeper.connect": f"{HOST}:{zookeeper_gate}{ZOOKEEPER_ROOT}",
        }
    place = {"node.id": str(node), "controller.listener.names": "CONTROLLER"}
    if controller_gate is None:
        return place | {"process.roles": "broker,controller"}
    servers = f"{HOST}:{controller_gate}"
    return place | {
        "process.roles": "broker",
        "controller.quorum.bootstrap.servers": servers,
    }


def controller_settings(port: int) -> dict[str, str]:
    """Of the node that is only a controller."""
    return {
        "process.roles": "controller",
        "node.id": str(CONTROLLER_ID),
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://{HOST}:{port}",
        "listener.security.protocol.map": PROTOCOLS,
    }


def properties_text(settings: Mapping[str, str]) -> str:
    """As a properties file has them."""
    return "".join(f"{key}={_escaped(str(value))}\n" for key, value in settings.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")

"""A cluster for one experiment: real processes, real sockets, and everything between them ours."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from barnabas.lab.cluster.base import Cluster
from barnabas.lab.cluster.broker import LabBroker
from barnabas.lab.cluster.settings import (
    common_settings,
    controller_settings,
    listener_settings,
    place_settings,
    properties_text,
)
from barnabas.lab.faults.gate import CONTROLLER_ID, ZOOKEEPER_ID, Gate, Port

if TYPE_CHECKING:
    from barnabas.lab.cluster.zookeeper import LabZooKeeper

LAST_LINES = 8


class LabCluster(Cluster):
    """Brokers 1 to N.  Use as a context manager: started on entry, gone after it.

    One broker is its own controller; several have a controller of their own, node 100, or with
    `zookeeper` a ZooKeeper of their own.  Any thread may call.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        settings: Mapping[str, str] | None = None,
        broker_settings: Mapping[int, Mapping[str, str]] | None = None,
        folder: Path | None = None,
        zookeeper: bool = False,
    ) -> None:
        """`settings`: of every broker, as in a properties file; `broker_settings`: of one of them.
        `folder`: where the data goes, and stays; without it a new one that is removed in the end.
        """
        assert brokers > 0, "a cluster without brokers"
        super().__init__()
        self._count = brokers
        self._settings = common_settings(brokers) | dict(settings or {})
        self._broker_settings = broker_settings or {}
        self._is_own_folder = folder is None
        self.folder = folder or Path()
        self._with_zookeeper = zookeeper
        self.controller: LabBroker | None = None
        """The node that is only a controller; None where there is none."""
        self.zookeeper: LabZooKeeper | None = None
        """Its own; None unless it was asked for."""
        self._ports: list[Port] = []

    def __enter__(self) -> Self:
        """Starts all nodes at once; returns when all brokers serve and know each other."""
        if self._is_own_folder:
            self.folder = Path(tempfile.mkdtemp(prefix="barnabas-lab-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.relays.start()
        try:
            self._make_nodes()
            self._start()
        except BaseException:
            self._close(orderly=False)
            raise
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        self._close(orderly=not self._is_own_folder and kind is None)

    def _nodes(self) -> list[LabBroker]:
        """Brokers first: they want to tell the controller that they leave."""
        return [*self.brokers.values(), *([self.controller] if self.controller else [])]

    def _close(self, *, orderly: bool) -> None:
        """Data that nobody will read needs no orderly end."""
        with ExitStack() as stack:
            if self._is_own_folder:
                stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
            for port in self._ports:
                stack.callback(port.close)
            stack.callback(self.relays.close)
            if self.zookeeper is not None:
                stack.callback(self.zookeeper.close)
            for node in reversed(self._nodes()):
                stack.callback(node.close)
                stack.callback(node.stop if orderly else node.kill)
            stack.callback(self.eyes.close)
            for broker in self.brokers.values() if orderly else ():
                stack.callback(broker.stop, wait=False)  # all at once: each is waited for later
            stack.callback(self.faults.lift_all)

    # -- building

    def _port(self) -> Port:
        port = Port()
        self._ports.append(port)
        return port

    def _make_nodes(self) -> None:
        controller_gate: Gate | None = None
        if self._with_zookeeper:
            from barnabas.lab.cluster.zookeeper import LabZooKeeper

            self.zookeeper = LabZooKeeper(self.folder / "zookeeper")
        elif self._count > 1:
            port = self._port()
            controller_gate = Gate(CONTROLLER_ID, port.address, is_for_nodes=True)
            settings = self._settings | controller_settings(port.number)
            self.controller = self._node(
                CONTROLLER_ID, "controller", settings, [controller_gate], port
            )
        for number in range(1, self._count + 1):
            self.brokers[number] = self._make_broker(number, controller_gate)

    def _make_broker(self, number: int, controller: Gate | None) -> LabBroker:
        clients, brokers = self._port(), self._port()
        gates = [Gate(number, clients.address), Gate(number, brokers.address, is_for_nodes=True)]
        zookeeper_gate: int | None = None
        if self.zookeeper is not None:
            way = Gate(ZOOKEEPER_ID, self.zookeeper.port.address, peer=number, is_raw=True)
            gates.append(way)
            zookeeper_gate = way.port.number
        settings = {
            **self._settings,
            **self._broker_settings.get(number, {}),
            **place_settings(
                number,
                controller_gate=controller.port.number if controller else None,
                zookeeper_gate=zookeeper_gate,
            ),
            **listener_settings(
                clients=clients.number,
                clients_gate=gates[0].port.number,
                brokers=brokers.number,
                brokers_gate=gates[1].port.number,
            ),
        }
        return self._node(number, f"broker-{number}", settings, gates, clients)

    def _node(
        self,
        number: int,
        name: str,
        settings: Mapping[str, str],
        gates: Sequence[Gate],
        port: Port,
    ) -> LabBroker:
        data = self.folder / name
        file = self.folder / f"{name}.properties"
        file.write_text(properties_text({"log.dirs": str(data), **settings}))
        return LabBroker(
            number,
            data,
            name=name,
            properties=file,
            relays=self.relays,
            gates=gates,
            port=port.number,
        )

    def _start(self) -> None:
        if self.zookeeper is not None:
            self.zookeeper.start()
        for node in reversed(self._nodes()):
            node.start(wait=False)
        for node in self._nodes():
            node.await_started()
        everyone = set(self.brokers)
        self.wait(lambda: self.live_brokers() == everyone, what="all brokers in the cluster")

    # -- looking

    @property
    def bootstrap(self) -> str:
        """`host:port` of all brokers, running or not."""
        return ",".join(broker.address for broker in self.brokers.values())

    def addresses(self) -> dict[int, tuple[str, int]]:
        """Those that are cut off from others last: they speak of how things were."""
        cuts = [cut.what for cut in self.relays.cuts]
        running = [each for each in self.brokers.values() if each.running and not each.frozen]
        running.sort(key=lambda each: sum(each.id in pair for pair in cuts))
        return {each.id: each.direct for each in running}

    def nodes(self) -> list[int]:
        """Ids of all nodes; -1 is ZooKeeper."""
        found = [node.id for node in self._nodes()]
        return [*found, ZOOKEEPER_ID] if self._with_zookeeper else found

    def controllers(self) -> set[int]:
        if self.zookeeper is not None:
            return {ZOOKEEPER_ID, self.zookeeper.controller()}
        return set() if self.controller is None else {self.controller.id}

    def _last_lines(self) -> str:
        return "".join(
            f"{node.name} | {line}\n"
            for node in self._nodes()
            for line in node.log.splitlines()[-LAST_LINES:]
        )

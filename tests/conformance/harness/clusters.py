"""Three brokers that make a cluster, ours or Apache Kafka's: nodes 1, 2 and 3, stopped at will."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.apache import CLUSTER_ID, ApacheBroker
from harness.barnabas import BIN
from harness.brokers import Broker
from harness.processes import Child, free_port
from harness.wire import NotAnsweredError, Replicas, cluster_view, topics_view

NODES = (1, 2, 3)
SMALLER_JVM = ("-Xmx320m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
CONTROLLER_ID = 100
QUIET: dict[str, str] = {
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    "default.replication.factor": "1",
    "unclean.leader.election.interval.ms": "1000",
}
"""Nothing happens that the test did not ask for, and what it asks for happens soon."""
PATIENCE_SECONDS = 90


class Cluster(Broker):
    """Looks like one broker with several addresses; `nodes` are its processes."""

    changes_show_at_once = False
    nodes: Mapping[int, Broker]

    def processes(self) -> list[Broker]:
        """Of all that the cluster consists of, those that run."""
        return [node for node in self.nodes.values() if node.child.status is None]

    @property
    def data_dir(self) -> Path:
        """Where the folders of the nodes are, named by their numbers."""
        return self.folder

    def addresses(self) -> list[str]:
        return [node.bootstrap for node in self.nodes.values() if node.child.status is None]

    def answers(self) -> bool:
        """Whether every node that runs tells of all that run."""
        running = self.addresses()
        try:
            return all(len(cluster_view(one).brokers) == len(running) for one in running)
        except NotAnsweredError:
            return False

    def start_node(self, number: int) -> None:
        self.nodes[number].start()
        self._await(self.answers, f"the return of {number}")

    def stop_node(self, number: int) -> None:
        self.nodes[number].stop()
        self._await(self.answers, f"the departure of {number}")

    def await_topic(self, topic: str, wanted: Callable[[Mapping[int, Replicas]], bool]) -> None:
        """Until every running node tells of the topic's partitions what is wanted."""

        def is_so() -> bool:
            return all(wanted(topics_view(one).get(topic, {})) for one in self.addresses())

        self._await(is_so, f"a change of {topic}")

    def await_in_sync(self, topic: str) -> None:
        def all_in_sync(partitions: Mapping[int, Replicas]) -> bool:
            return bool(partitions) and all(
                set(one.isr) == set(one.replicas) for one in partitions.values()
            )

        self.await_topic(topic, all_in_sync)

    def _await(self, ready: Callable[[], bool], what: str) -> None:
        first = next(node for node in self.nodes.values() if node.child.status is None)
        since_start = first.child.age()
        first.child.wait_until(ready, what=what, seconds=since_start + PATIENCE_SECONDS)

    def discard(self) -> None:
        for node in self.nodes.values():
            node.discard()


class ApacheCluster(Cluster):
    """Node 1 is the controller, too: it cannot be stopped."""

    name = "apache"

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        *,
        jvm: Sequence[str] = SMALLER_JVM,
        release: str | None = "4.0",
    ) -> None:
        super().__init__(folder, settings)
        controller = f"127.0.0.1:{free_port()}"
        self.nodes = {
            number: _ApacheNode(
                folder / str(number), number, controller, self.settings, jvm=jvm, release=release
            )
            for number in NODES
        }

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()
        self.bootstrap = ",".join(node.bootstrap for node in self.nodes.values())
        self._await(self.answers, "three brokers")


class _ApacheNode(ApacheBroker):
    """Keeps its port when it is started again."""

    def __init__(
        self,
        folder: Path,
        number: int,
        controller: str,
        settings: Mapping[str, str],
        *,
        jvm: Sequence[str],
        release: str | None,
    ) -> None:
        super().__init__(folder, settings, jvm=jvm, release=release)
        self.number = number
        self.bootstrap = f"127.0.0.1:{free_port()}"
        roles, listeners = "broker", f"PLAINTEXT://{self.bootstrap}"
        if number == NODES[0]:
            roles += ",controller"
            listeners += f",CONTROLLER://{controller}"
        self._lines = {
            "process.roles": roles,
            "node.id": str(number),
            "controller.quorum.voters": f"{NODES[0]}@{controller}",
            "listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            **QUIET,
            **self.settings,
        }

    def _choose_ports(self) -> None:
        lines = [f"{key}={value}\n" for key, value in self._lines.items()]
        self._properties.write_text("".join(lines))

    def _format(self) -> None:
        if self.number == NODES[0]:
            super()._format()
            return
        self.data_dir.mkdir()  # a broker needs no more than this, and that needs no JVM
        lines = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={self.number}\n"
        (self.data_dir / "meta.properties").write_text(lines)


class BarnabasCluster(Cluster):
    """A controller process of its own beside the three brokers."""

    name = "barnabas"

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, settings)
        place = f"127.0.0.1:{free_port()}"
        self.controller = _BarnabasNode(
            folder / "controller",
            {
                "process.roles": "controller",
                "node.id": str(CONTROLLER_ID),
                "listeners": f"CONTROLLER://{place}",
                "controller.listener.names": "CONTROLLER",
                **QUIET,
                **self.settings,
            },
        )
        self.nodes = {
            number: _BarnabasNode(
                folder / str(number),
                {
                    "process.roles": "broker",
                    "node.id": str(number),
                    "controller.quorum.bootstrap.servers": place,
                    "controller.listener.names": "CONTROLLER",
                    **QUIET,
                    **self.settings,
                },
            )
            for number in NODES
        }

    def start(self) -> None:
        self.controller.start()
        for node in self.nodes.values():
            node.start()
        self.bootstrap = ",".join(node.bootstrap for node in self.nodes.values())
        self._await(self.answers, "three brokers")

    def processes(self) -> list[Broker]:
        return [self.controller, *super().processes()]

    def discard(self) -> None:
        super().discard()
        self.controller.discard()


class _BarnabasNode(Broker):
    """Keeps its port when it is started again."""

    name = "barnabas"

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        super().__init__(folder, settings)
        self.bootstrap = f"127.0.0.1:{free_port()}"

    def start(self) -> None:
        command = [str(BIN / "barnabas"), "start", "--data-dir", str(self.data_dir)]
        command += ["--listen", self.bootstrap]
        for name, value in self.settings.items():
            command += ["--override", f"{name}={value}"]
        log_path = self.folder / "broker.log"
        log_path.unlink(missing_ok=True)  # the line must be this start's, not the last one's
        self.child = Child(command, log_path=log_path, cwd=self.folder)
        self.ready_after = self.child.wait_until(
            lambda: "started: " in self.child.log_text(), what="started line", seconds=60
        )

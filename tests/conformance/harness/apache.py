"""Apache Kafka itself: a broker in a process of its own (KRaft, one node, default settings)."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.brokers import Broker
from harness.maven import classpath, kafka_version, need
from harness.paths import CONFORMANCE
from harness.processes import Child, StartFailedError, free_port

__all__ = ["SMALL_JVM", "STOCK_JVM", "ApacheBroker", "kafka_version", "run_main"]

STOCK_JVM = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""What Apache Kafka's start script passes when the environment says nothing else."""

SMALL_JVM = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""For correctness tests: starts sooner, takes less."""

CLUSTER_ID = "conformance-cluster-id"  # 22 characters, as any id in base64


def run_main(main: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run one main class in a JVM of its own."""
    logging = CONFORMANCE / "java" / "log4j2.properties"
    command = [need("java"), *SMALL_JVM, f"-Dlog4j2.configurationFile={logging}"]
    return subprocess.run(
        [*command, "-cp", classpath(), main, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


class ApacheBroker(Broker):
    """Broker and controller in one process. `settings` are added to what a single node must say."""

    name = "apache"
    changes_show_at_once = False

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        *,
        jvm: Sequence[str] = SMALL_JVM,
        release: str | None = "4.0",
        ulimit_files: int | None = None,
    ) -> None:
        """`release` is the feature level to format with; None: the newest that it knows."""
        super().__init__(folder, settings)
        self.release = release
        self.jvm = tuple(jvm)
        self.ulimit_files = ulimit_files
        self._properties = self.folder / "server.properties"

    def start(self) -> None:
        self._choose_ports()
        if not (self.data_dir / "meta.properties").exists():
            self._format()
        logging = CONFORMANCE / "java" / "log4j2-broker.properties"
        command = [need("java"), *self.jvm, f"-Dlog4j2.configurationFile={logging}"]
        command += ["-cp", classpath(), "kafka.Kafka", str(self._properties)]
        if self.ulimit_files is not None:
            command = ["sh", "-c", f'ulimit -n {self.ulimit_files}; exec "$@"', "sh", *command]
        self.child = Child(command, log_path=self.folder / "broker.log", cwd=self.folder)
        self.ready_after = self.child.wait_until(self.answers, what="Metadata answer", seconds=90)

    def _choose_ports(self) -> None:
        port, controller_port = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            "offsets.topic.replication.factor": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }
        lines = [f"{key}={value}\n" for key, value in properties.items()]
        self._properties.write_text("".join(lines))

    def _format(self) -> None:
        arguments = ["format", "--cluster-id", CLUSTER_ID, "--config", str(self._properties)]
        if self.release is not None:
            arguments += ["--release-version", self.release]
        run = run_main("kafka.tools.StorageTool", arguments)
        if run.returncode:
            raise StartFailedError(f"formatting failed:\n{run.stdout}{run.stderr}")

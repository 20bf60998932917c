"""`kafka-replica-verification` beside a cluster of three: replicas that are alike, or are not."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster_processes import ClusterProcesses, cluster
from cluster_view import ClusterView
from eventually import eventually
from quick_clients import send

BIN = Path(sys.executable).parent
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with cluster(tmp_path) as made:
        yield made


class Verifying:
    """The tool, running, and what it has said."""

    def __init__(self, *arguments: str) -> None:
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [BIN / "kafka-replica-validation.sh", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.said.append(line.rstrip("\n"))

    def has_said(self, pattern: str) -> bool:
        return any(re.fullmatch(pattern, line) for line in self.said)

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(how)
        status = self.process.wait(60)
        self._reader.join()
        return status


@contextmanager
def verifying(three: ClusterProcesses, *arguments: str) -> Iterator[Verifying]:
    tool = Verifying("--broker-list", three.bootstrap, "--report-interval-ms", "100", *arguments)
    try:
        yield tool
    finally:
        tool.end(signal.SIGKILL)


def fill(three: ClusterProcesses, count: int) -> None:
    pairs = [(None, b"value %d" % number) for number in range(count)]
    send(three.bootstrap, "t", pairs, acks="all", batch_num_messages=10)


def test_replicas_that_are_the_same_are_found_to_be(three: ClusterProcesses) -> None:
    view = ClusterView(three.bootstrap)
    view.create("t")
    view.await_isr("t", 0, 1, 2)
    fill(three, 100)

    with verifying(three, "--topic-white-list", "t", "--time", "-2") as tool:
        eventually(
            lambda: tool.has_said(
                rf"{TIME}: max lag is 0 for partition \[t,0\] at offset 100 among 1 partitions"
            )
        )
        fill(three, 30)
        eventually(lambda: tool.has_said(r".* at offset 130 among 1 partitions"))
        assert tool.end() == 130

    assert re.fullmatch(rf"{TIME}: verification process is started", tool.said[0])
    assert not [line for line in tool.said if "unmatched" in line or "Traceback" in line]


def test_a_replica_with_other_bytes_is_found(three: ClusterProcesses) -> None:
    """One byte of a value, on a disk, behind the back of a broker that is stopped cleanly."""
    view = ClusterView(three.bootstrap)
    view.create("t")
    view.await_isr("t", 0, 1, 2)
    fill(three, 20)
    leader = view.leaders("t")[0]
    victim = next(number for number in three.brokers if number != leader)
    three.brokers[victim].stop()
    (log,) = (three.brokers[victim].data_dir / "t-0").glob("*.log")
    data = bytearray(log.read_bytes())
    at = data.rindex(b"value 3")
    data[at] ^= 1
    log.write_bytes(data)
    three.brokers[victim].start(same_port=True)
    view.await_isr("t", 0, 1, 2)

    with verifying(three, "--topics-include", "t", "--time", "-2") as tool:
        eventually(
            lambda: tool.has_said(
                rf"{TIME}: partition \[t,0\] has unmatched checksum at offset \d+; "
                r"replica \d's checksum \d+; replica \d's checksum \d+"
            )
        )
        eventually(lambda: tool.has_said(r".* at offset 20 among 1 partitions"))


def test_a_broker_that_is_down_holds_the_comparison_up(three: ClusterProcesses) -> None:
    view = ClusterView(three.bootstrap)
    view.create("t")
    view.await_isr("t", 0, 1, 2)
    victim = next(number for number in three.brokers if number != view.leaders("t")[0])

    with verifying(three, "--topics-include", "t", "--time", "-2") as tool:
        eventually(lambda: tool.has_said(r".*max lag is 0 .*"))
        three.brokers[victim].stop()
        fill(three, 10)
        eventually(lambda: tool.has_said(r".*max lag is 10 for partition \[t,0\] at offset 0 .*"))
        assert tool.has_said(rf"warning: replica {victim} of t-0: .*")

        three.brokers[victim].start(same_port=True)
        eventually(lambda: tool.has_said(r".*max lag is 0 .* at offset 10 .*"), timeout_s=60)


def test_a_topic_that_nobody_has_is_named(three: ClusterProcesses) -> None:
    done = subprocess.run(
        [
            BIN / "kafka-replica-verification",
            "--broker-list",
            three.bootstrap,
            "--topics-include",
            "none.*",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stderr == 'kafka-replica-verification: no topic matches "none.*"\n'

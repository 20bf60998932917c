"""`kafka-reassign-partitions` as people run it, against a cluster of ours with something to move.

What exactly it prints is compared with Apache Kafka's tool in `tests/conformance`; here is how it
waits, on a terminal and when brokers go away.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_processes import ClusterProcesses, cluster
from confluent_kafka import Producer
from eventually import eventually
from terminal import CTRL_C, Terminal

BIN = Path(sys.executable).parent
RECORDS, RECORD_BYTES = 4_000, 1_000
NEVER = "--throttle 1000"
"""Four megabytes at a kilobyte a second: it will not end by itself."""


class Moving:
    """A topic with a partition on brokers 0 and 1, and a plan that moves it to 2 and 1."""

    def __init__(self, cluster: ClusterProcesses, folder: Path) -> None:
        self.cluster = cluster
        self.plan = folder / "plan.json"
        move = {"topic": "big", "partition": 0, "replicas": [2, 1]}
        self.plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
        self.run("kafka-topics", "--create --topic big --replica-assignment 0:1")
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        for _ in range(RECORDS):
            producer.produce("big", b"x" * RECORD_BYTES)
        assert producer.flush(60) == 0

    def command(self, tool: str, line: str) -> list[str | Path]:
        words = line.format(plan=f"--reassignment-json-file {self.plan}").split()
        return [BIN / tool, "--bootstrap-server", self.cluster.bootstrap, *words]

    def run(self, tool: str, line: str, *, status: int = 0) -> subprocess.CompletedProcess[str]:
        run = subprocess.run(
            self.command(tool, line), capture_output=True, text=True, check=False, timeout=120
        )
        assert run.returncode == status, run
        return run

    def reassign(self, line: str, *, status: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run("kafka-reassign-partitions", line, status=status)

    def begin(self, line: str) -> Terminal:
        """Starts to wait on a terminal; returns once it shows how far the move is."""
        terminal = Terminal(self.command("kafka-reassign-partitions", line), columns=120)
        terminal.read_until(b"moving [")
        return terminal


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[Moving]:
    with cluster(tmp_path) as started:
        yield Moving(started, tmp_path)


def test_a_terminal_shows_how_far_a_move_is(moving: Moving) -> None:
    """And nothing of it is left when it is done."""
    terminal = moving.begin(f"--execute {{plan}} --wait {NEVER}")
    try:
        terminal.read_until(b" KiB")
        # Faster, as people do it: the same plan again.
        moving.reassign("--execute {plan} --additional --throttle 100000000")
        shown = terminal.read_to_end(timeout_s=120)
        assert terminal.process.returncode == 0, shown
        done = shown.rpartition(b"\r\x1b[K")[2].decode().replace("\r\n", "\n")
        assert done == (
            "Status of partition reassignment:\n"
            "Reassignment of partition big-0 is completed.\n\n"
            "Clearing broker-level throttles on brokers 0,1,2\n"
            "Clearing topic-level throttles on topic big\n"
        )
        assert terminal.modes_now() == terminal.modes
    finally:
        terminal.close()


def test_ctrl_c_ends_the_waiting_and_not_the_move(moving: Moving) -> None:
    terminal = moving.begin(f"--execute {{plan}} --wait {NEVER}")
    try:
        terminal.type(CTRL_C)
        shown = terminal.read_to_end()
        assert (terminal.process.returncode, b"Traceback" in shown) == (130, False), shown
        assert terminal.modes_now() == terminal.modes
    finally:
        terminal.close()
    assert "adding: 2. removing: 0." in moving.reassign("--list").stdout
    assert "is still in progress." in moving.reassign("--verify {plan}").stdout
    assert "Successfully cancelled" in moving.reassign("--cancel {plan}").stdout
    assert moving.reassign("--list").stdout == "No partition reassignments found.\n"


def test_waiting_outlives_a_broker_and_ends_when_the_move_does(moving: Moving) -> None:
    """The broker that the partition moves to is killed, and the move is given up elsewhere."""
    terminal = moving.begin(f"--execute {{plan}} --wait {NEVER}")
    try:
        moving.cluster.brokers[2].kill()
        moving.reassign("--cancel {plan} --preserve-throttles")
        shown = terminal.read_to_end(timeout_s=120)
        assert terminal.process.returncode == 1, shown
        assert b"but replica set is 1,0 rather than 2,1." in shown
    finally:
        terminal.close()


def test_waiting_without_any_broker_is_one_line(moving: Moving) -> None:
    waiting = subprocess.Popen(
        moving.command("kafka-reassign-partitions", f"--execute {{plan}} --wait {NEVER}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    eventually(lambda: "adding: 2." in moving.reassign("--list").stdout)
    for broker in moving.cluster.brokers.values():
        broker.kill()
    out, err = waiting.communicate(timeout=120)
    assert waiting.returncode == 1, (out, err)
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_controllers_list_and_cancel_moves(moving: Moving) -> None:
    moving.reassign(f"--execute {{plan}} {NEVER}")
    controller = f"127.0.0.1:{moving.cluster.controller.port}"
    tool = [BIN / "kafka-reassign-partitions", "--bootstrap-controller", controller]
    line = ["--reassignment-json-file", str(moving.plan)]
    listed = subprocess.run([*tool, "--list"], capture_output=True, text=True, check=True)
    assert "adding: 2. removing: 0." in listed.stdout
    ended = subprocess.run([*tool, "--cancel", *line], capture_output=True, text=True, check=True)
    assert "Successfully cancelled partition reassignment for: big-0" in ended.stdout
    assert moving.reassign("--list").stdout == "No partition reassignments found.\n"


def test_tools_do_without_a_broker_that_is_away(moving: Moving, tmp_path: Path) -> None:
    """What it alone had is told to be out of reach, at once; the rest is told and moved."""
    moving.run("kafka-topics", "--create --topic lost --replica-assignment 0")
    moving.cluster.brokers[0].stop()

    offsets = moving.run("kafka-get-offsets", "--topic big,lost", status=1)
    assert offsets.stdout == f"big:0:{RECORDS}\n"
    assert offsets.stderr == (
        "Skip getting offsets for topic-partition lost-0 due to error: "
        "The partition has no leader at the moment.\n"
    )
    path = tmp_path / "offsets.json"
    wishes = [{"topic": name, "partition": 0, "offset": 7} for name in ("big", "lost")]
    path.write_text(json.dumps({"partitions": wishes}))
    deleted = moving.run("kafka-delete-records", f"--offset-json-file {path}", status=1)
    assert deleted.stdout.splitlines()[2:] == [
        "partition: big-0\tlow_watermark: 7",
        "partition: lost-0\terror: The partition has no leader at the moment.",
    ]
    shown = moving.run("kafka-log-dirs", "--describe --json")
    assert [each["broker"] for each in json.loads(shown.stdout)["brokers"]] == [1, 2]

    moved = moving.reassign("--execute {plan} --wait")
    saved = json.loads(next(line for line in moved.stdout.splitlines() if line.startswith("{")))
    (big,) = saved["partitions"]
    assert (big["replicas"], big["log_dirs"][0]) == ([0, 1], "any")
    assert big["log_dirs"][1].startswith(str(tmp_path))
    assert "Reassignment of partition big-0 is completed." in moved.stdout
    elected = moving.run(
        "kafka-leader-election", "--election-type preferred --topic big --partition 0"
    )
    assert elected.stdout.endswith("for partitions big-0\n")

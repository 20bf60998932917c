"""`barnabas start --brokers N`: one command, one log, everything started is stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster_view import ClusterView
from eventually import eventually
from quick_clients import send

READY = re.compile(
    r"^cluster +\| ready: \d+ brokers, --bootstrap-server (\S+), data in ", re.MULTILINE
)
PROCESS = re.compile(r"^cluster +\| (\S+): process (\d+), ", re.MULTILINE)


class Started:
    """The command, and what it has printed so far."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "barnabas.cli.main", "start", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.append(line)

    @property
    def log(self) -> str:
        return "".join(self._lines)

    def ready(self) -> str:
        """Where clients connect, as it says."""
        found = eventually(lambda: READY.search(self.log), what=f"ready:\n{self.log}")
        return found[1]

    def pids(self) -> dict[str, int]:
        return {name: int(pid) for name, pid in PROCESS.findall(self.log)}

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        status = self.process.wait(60)
        self._reader.join()
        return status


@contextmanager
def started(*arguments: str) -> Iterator[Started]:
    made = Started(*arguments)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.end(signal.SIGTERM)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_serves_shows_one_log_and_stops_everything_when_told(tmp_path: Path) -> None:
    with started("--brokers", "2", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:0") as two:
        bootstrap = two.ready()
        view = ClusterView(bootstrap)
        assert view.brokers() == {0, 1}
        view.create("t", partitions=1, replicas=2)
        first = bootstrap.split(",")[view.leaders("t")[0]]
        send(first, "t", [(None, b"value")], acks="all")
        pids = two.pids()
        assert set(pids) == {"controller", "broker-0", "broker-1"}

        assert two.end(signal.SIGINT) == 0

        assert not any(is_running(pid) for pid in pids.values())
        for name in pids:
            assert re.search(rf"^{name} +\| .* stopped: ", two.log, re.MULTILINE)
            assert (tmp_path / name / "meta.properties").exists()
        assert "without the controller's knowledge" not in two.log


def test_a_process_that_dies_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    with started("--brokers", "2", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:0") as two:
        survivor = two.ready().split(",")[1]

        os.kill(two.pids()["broker-0"], signal.SIGKILL)

        eventually(lambda: "broker-0 has ended: killed by SIGKILL" in two.log)
        ClusterView(survivor).await_brokers(1)
        assert two.end(signal.SIGTERM) == 1


def test_if_the_command_itself_is_killed_nothing_goes_on_without_it(tmp_path: Path) -> None:
    with started("--brokers", "1", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:0") as one:
        one.ready()
        pids = one.pids()
        assert len(pids) == 2

        one.process.kill()

        eventually(lambda: not any(is_running(pid) for pid in pids.values()))
        assert (tmp_path / "broker-0" / ".kafka_cleanshutdown").exists()
        one.end(signal.SIGKILL)


def test_if_one_cannot_start_none_is_left(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(
            *("--brokers", "1", "--data-dir", str(tmp_path), "--listen", f"127.0.0.1:{port}")
        ) as one:
            assert one.process.wait(60) == 1
            pids = one.pids()

    assert "broker-0 did not start" in one.log
    assert "Address already in use" in one.log
    assert not any(is_running(pid) for pid in pids.values())

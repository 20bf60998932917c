"""Stopping brokers by the file that they were started with; others of this machine live on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def run(cwd: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / command[0], *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
    )


def broker(folder: Path, name: str, node_id: int) -> tuple[Path, int]:
    """A broker in the background: its properties file and its process."""
    file = folder / f"{name}.properties"
    file.write_text(
        f"node.id={node_id}\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={folder / name}\n"
    )
    home = folder / f"home-{name}"
    home.mkdir()
    started = run(home, "kafka-server-start.sh", "-daemon", f"../{file.name}")
    found = re.search(r"process (\d+)", started.stdout)
    assert found is not None, started
    return file, int(found[1])


def runs(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def end(pid: int) -> None:
    if runs(pid):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("tool", ["kafka-server-stop.sh", "kafka-server-stop"])
def test_the_broker_of_a_file_is_stopped_cleanly_and_no_other(tmp_path: Path, tool: str) -> None:
    file, pid = broker(tmp_path, "one", 801)
    other_file, other = broker(tmp_path, "two", 802)
    try:
        stopped = run(tmp_path, tool, file.name)

        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert stopped.stdout == f"Stopped node 801 (process {pid})\n"
        assert not runs(pid), "it returns when the broker has ended"
        assert "stopped" in (tmp_path / "home-one" / "logs" / "kafkaServer.out").read_text()
        assert runs(other)

        again = run(tmp_path, tool, file.name)
        assert (again.returncode, again.stdout) == (1, "")
        assert again.stderr.startswith("No kafka server to stop")

        wrong = run(tmp_path, tool, str(other_file), "--node-id", "801")
        assert wrong.returncode == 1
        assert runs(other)
        right = run(tmp_path, tool, str(other_file), "--node-id=802", "--process-role=broker")
        assert (right.returncode, right.stdout) == (0, f"Stopped node 802 (process {other})\n")
        assert not runs(other)
    finally:
        end(pid)
        end(other)

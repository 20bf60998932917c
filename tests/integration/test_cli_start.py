"""Starting a broker: from a file, in the background, and the ways in which it goes wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess

BIN = Path(sys.executable).parent


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=cwd
    )


def properties(folder: Path, **extra: str) -> Path:
    settings = {
        "node.id": "7",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(folder / "data"),
        **{name.replace("_", "."): value for name, value in extra.items()},
    }
    file = folder / "server.properties"
    file.write_text("# a broker\n" + "".join(f"{key}={settings[key]}\n" for key in settings))
    return file


def test_a_broker_starts_from_a_file_and_stops_on_sigterm(tmp_path: Path) -> None:
    broker = subprocess.Popen(
        [BIN / "kafka-server-start.sh", str(properties(tmp_path)), "--override", "node.id=8"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
    )
    with broker:
        assert broker.stdout is not None
        for line in broker.stdout:
            if "started" in line:
                break
        else:
            pytest.fail("it ended before it was ready")
        assert "broker 8" in line
        broker.send_signal(signal.SIGTERM)
        broker.stdout.read()
    assert broker.returncode == 0


def test_a_broker_in_the_background_is_ready_when_the_command_returns(tmp_path: Path) -> None:
    started = run(BIN / "kafka-server-start.sh", "-daemon", properties(tmp_path), cwd=tmp_path)
    found = re.fullmatch(
        r"broker started in the background: process (\d+), log in logs/kafkaServer\.out\n",
        started.stdout,
    )
    assert found is not None, started
    process = int(found[1])
    try:
        log = (tmp_path / "logs" / "kafkaServer.out").read_text()
        address = re.search(r"127\.0\.0\.1:(\d+)", log)
        assert address is not None
        listed = run(
            *(BIN / "kafka-topics", "--list", "--bootstrap-server", address[0]), cwd=tmp_path
        )
        assert listed.returncode == 0
    finally:
        os.kill(process, signal.SIGTERM)
    wait_until_gone(process)


def wait_until_gone(process: int) -> None:
    handle = os.pidfd_open(process)
    try:
        import select

        assert select.select([handle], [], [], 60)[0], "it did not stop"
    finally:
        os.close(handle)


def test_a_broker_that_cannot_start_in_the_background_is_reported(tmp_path: Path) -> None:
    file = properties(tmp_path, num_partitions="none")

    failed = run(BIN / "kafka-server-start", "-daemon", file, cwd=tmp_path)

    assert failed.returncode == 1
    assert "num.partitions" in failed.stderr
    assert failed.stderr.count("\n") == 1


def test_a_bad_value_names_file_key_and_value(tmp_path: Path) -> None:
    file = properties(tmp_path, num_partitions="none")

    failed = run(BIN / "kafka-server-start", file, cwd=tmp_path)

    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    for part in (str(file), "num.partitions", "none"):
        assert part in failed.stderr


def test_a_second_broker_on_the_same_directory_or_port_gets_one_line(
    broker: BarnabasProcess, tmp_path: Path
) -> None:
    same_port = run(
        *(BIN / "barnabas", "start", "--data-dir", tmp_path / "data"),
        *("--listen", broker.bootstrap),
        cwd=tmp_path,
    )
    same_directory = run(
        *(BIN / "barnabas", "start", "--data-dir", broker.data_dir, "--listen", "127.0.0.1:0"),
        cwd=tmp_path,
    )

    for failed in (same_port, same_directory):
        assert failed.returncode == 1
        assert (failed.stdout + failed.stderr).count("\n") == 1, failed


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    failed = run(BIN / "kafka-server-start", "none.properties", cwd=tmp_path)

    reason = "cannot read none.properties: No such file or directory"
    assert (failed.returncode, failed.stderr) == (
        1,
        f"kafka-server-start: properties file: {reason}\n",
    )

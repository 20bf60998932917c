"""`kafka-dump-log` on the files of a broker that runs, and on a terminal."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from quick_clients import send
from terminal import CTRL_C, Terminal

from barnabas.records.batch import Record, encode_batch

BIN = Path(sys.executable).parent
LOG = "00000000000000000000.log"
MB = 1024 * 1024


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 200 MB in batches of 2 MB."""
    path = tmp_path_factory.mktemp("large") / LOG
    value = b"." * 1000
    with path.open("wb") as file:
        for number in range(100):
            records = [Record(timestamp=1, value=value)] * 2_000
            file.write(encode_batch(records, base_offset=2_000 * number))
    return path


def test_files_of_a_running_broker_are_read(
    broker: BarnabasProcess, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    create_topics(broker.bootstrap, topic, partitions=1)
    send(broker.bootstrap, topic, [(b"k", b"first"), (None, b"second")])

    done = subprocess.run(
        [
            BIN / "kafka-dump-log.sh",
            "--print-data-log",
            "--files",
            str(broker.data_dir / f"{topic}-0" / LOG),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    records = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [line.rpartition("headerKeys: [] ")[2] for line in records] == [
        "key: k payload: first",
        "payload: second",
    ]


def test_a_large_file_takes_no_more_memory_than_a_batch(large: Path) -> None:
    """200 MB of records within 100 MB of address space more than the program itself needs."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (180 * MB, 180 * MB))

    done = subprocess.run(
        [BIN / "kafka-dump-log", "--deep-iteration", "--files", str(large)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
        preexec_fn=limit,  # no threads here
    )

    assert (done.returncode, done.stderr) == (0, b"")


def in_terminal(line: str, folder: Path) -> Terminal:
    return Terminal(["sh", "-c", f"exec {BIN}/kafka-dump-log {line}"], folder=folder)


def test_a_bar_is_shown_while_lines_go_to_a_file(large: Path, tmp_path: Path) -> None:
    terminal = in_terminal(f"--deep-iteration --files {large} > dumped", tmp_path)
    try:
        terminal.read_until(b"dumping [")
        said = terminal.read_to_end(timeout_s=120)
        assert terminal.process.returncode == 0
        assert said.endswith(b"\r\x1b[K"), "and is gone in the end"
    finally:
        terminal.close()
    with (tmp_path / "dumped").open() as lines:
        assert sum(1 for _ in lines) == 2 + 100 + 200_000


def test_ctrl_c_ends_it(large: Path, tmp_path: Path) -> None:
    terminal = in_terminal(f"--deep-iteration --files {large}", tmp_path)
    try:
        terminal.read_until(b"Log starting offset: 0")
        terminal.type(CTRL_C)
        said = terminal.read_to_end()
        assert terminal.process.returncode == 130
        assert b"Traceback" not in said
        assert b"dumping [" not in terminal.transcript, "the lines themselves show how far it is"
    finally:
        terminal.close()


def test_a_reader_that_goes_away_ends_it_without_a_word(large: Path) -> None:
    command = f"{BIN}/kafka-dump-log --deep-iteration --files {large}"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout == f"Dumping {large}\n141\n"
    assert done.stderr == ""

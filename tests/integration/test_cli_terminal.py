"""What only a terminal shows: the prompt, Ctrl-D, Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from terminal import CTRL_C, CTRL_D, Terminal

BIN = Path(sys.executable).parent


@pytest.fixture
def terminal(broker: BarnabasProcess) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(tool: str, *arguments: str) -> Terminal:
        command: list[str | Path] = [BIN / tool, "--bootstrap-server", broker.bootstrap]
        started.append(Terminal([*command, *arguments]))
        return started[-1]

    yield start
    for each in started:
        each.close()


Start = Callable[..., Terminal]


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    subprocess.run(
        [BIN / "kafka-topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic", name],
        capture_output=True,
        check=True,
        timeout=60,
    )
    return name


def test_a_line_typed_at_the_prompt_is_there_before_the_next(terminal: Start, topic: str) -> None:
    reader = terminal("kafka-console-consumer", "--topic", topic, "--from-beginning")
    writer = terminal("kafka-console-producer", "--topic", topic)

    writer.read_until(b">")
    writer.type(b"hello\n")
    reader.read_until(b"hello\r\n")
    writer.read_until(b">")
    writer.type(b"again\n")
    reader.read_until(b"again\r\n")
    writer.read_until(b">")
    writer.type(CTRL_D)

    assert writer.read_to_end() == b"\r\n"
    assert writer.process.wait(60) == 0
    reader.type(CTRL_C)
    reader.read_until(b"Processed a total of 2 messages\r\n")
    assert reader.process.wait(60) == 130


def test_ctrl_c_at_the_prompt_leaves_no_traceback(terminal: Start, topic: str) -> None:
    writer = terminal("kafka-console-producer", "--topic", topic)

    writer.read_until(b">")
    writer.type(CTRL_C)

    assert writer.read_to_end() in (b"^C\r\n", b"\r\n")
    assert writer.process.wait(60) == 130


def test_help_fits_the_terminal(terminal: Start) -> None:
    shown = terminal("kafka-topics", "--help").read_to_end().decode()

    assert "--bootstrap-server" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())

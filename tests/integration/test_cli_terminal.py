"""What only a terminal shows: the prompt, Ctrl-D, Ctrl-C."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess

BIN = Path(sys.executable).parent
CTRL_C = b"\x03"
CTRL_D = b"\x04"


class Terminal:
    """A program whose standard streams are a terminal, and we at its keyboard."""

    def __init__(self, command: list[str | Path]) -> None:
        self._keyboard, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            close_fds=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509  # the child must own the terminal
        )
        os.close(theirs)
        self.shown = b""

    def type(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def read_until(self, text: bytes, *, timeout_s: float = 60) -> None:
        """Waits until the program has shown a text, after what was waited for before."""
        give_up = time.monotonic() + timeout_s
        while text not in self.shown:
            assert self._read(give_up), f"{text!r} is not in {self.shown!r}"
        self.shown = self.shown.partition(text)[2]

    def read_to_end(self, *, timeout_s: float = 60) -> bytes:
        give_up = time.monotonic() + timeout_s
        while self._read(give_up):
            pass
        return self.shown

    def _read(self, give_up: float) -> bool:
        ready, _, _ = select.select([self._keyboard], [], [], max(0, give_up - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._keyboard, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.shown += data
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._keyboard)


def _take_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


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

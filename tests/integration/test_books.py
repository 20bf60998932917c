"""Command lines as they stand in books and courses do what the books show.

The files in `books/` are transcripts.  `$` is a command, run by a shell as it stands: only
addresses are exchanged, for those of a cluster of three brokers on ZooKeeper.  What follows it is
typed (`> `), expected on stdout, or expected on stderr (`! `).  `...` stands for anything, alone on
a line for any lines; `<word>` for one word; spaces count as one.  `^C` at the end: the reader stops
it there.  `? 1` is the exit status, if not 0.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from eventually import LOOK_AGAIN_S
from zookeeper_cluster import PATH, ZooKeeperCluster, zookeeper_cluster

BOOKS = sorted((Path(__file__).parent / "books").glob("*.txt"))
BIN = Path(sys.executable).parent
CTRL_C_STATUS = 130
PATIENCE_S = 60.0
BROKER = re.compile(r"\b(?:localhost|broker\d)(?:\.[a-z]+)*:9092\b")
ZOOKEEPER = re.compile(r"\b(?:localhost|zoo\d)(?:\.[a-z]+)*:2181(?:/[\w-]+)?")


@dataclass(slots=True)
class Line:
    """One command of a transcript, and what it is expected to do."""

    command: str
    typed: list[str] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    status: int = 0
    is_stopped: bool = False


def read(text: str) -> list[Line]:
    lines: list[Line] = []
    for each in text.splitlines():
        if each.startswith("$ "):
            lines.append(Line(each[2:]))
        elif each.startswith("> "):
            lines[-1].typed.append(each[2:])
        elif each.startswith("!"):
            lines[-1].err.append(each[2:])
        elif each.startswith("? "):
            lines[-1].status = int(each[2:])
        elif each == "^C":
            lines[-1].is_stopped = True
            lines[-1].status = CTRL_C_STATUS
        elif each.strip() and not each.startswith("#"):
            lines[-1].out.append(each)
    return lines


def pattern(expected: list[str]) -> re.Pattern[str]:
    """What the expected lines mean; empty lines were dropped on both sides."""
    parts = [
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else f"{_line(line)}\\n"
        for line in expected
        if line.strip()
    ]
    return re.compile("".join(parts))


def _line(line: str) -> str:
    text = re.escape(" ".join(line.split()))
    text = text.replace(r"\.\.\.", "[^\n]*")
    return re.sub(r"<\w+>", r"\\S+", text)


def plain(said: str) -> str:
    """Spaces and tabs as one space, without empty lines."""
    lines = (" ".join(line.split()) for line in said.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


@dataclass(slots=True)
class Reader:
    """Somebody at a shell who types what the book says."""

    folder: Path
    cluster: ZooKeeperCluster

    def differs(self, line: Line) -> str | None:
        """What is not as the book has it; None if all is."""
        process = self._start(line)
        try:
            if line.is_stopped:
                self._await(process, pattern([*line.out, "..."]))
                os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        out, err = plain(self._said("out")), plain(self._said("err"))
        is_as_expected = (
            process.returncode == line.status
            and pattern(line.out).fullmatch(out) is not None
            and pattern(line.err).fullmatch(err) is not None
        )
        if is_as_expected:
            return None
        return f"$ {line.command}\nstatus {process.returncode}\n{out}! {err}"

    def _await(self, process: subprocess.Popen[bytes], wanted: re.Pattern[str]) -> None:
        """Until it has said what is wanted; if it never does, that is found out afterwards."""
        give_up = time.monotonic() + PATIENCE_S
        while not wanted.fullmatch(plain(self._said("out"))):
            if process.poll() is not None or time.monotonic() > give_up:
                return
            time.sleep(LOOK_AGAIN_S)

    def _start(self, line: Line) -> subprocess.Popen[bytes]:
        command = self._here(line.command)
        if line.is_stopped:
            command = f"exec {command}"
        typed = self.folder / "typed"
        typed.write_text("".join(f"{each}\n" for each in line.typed))
        with (
            typed.open("rb") as stdin,
            (self.folder / "out").open("wb") as out,
            (self.folder / "err").open("wb") as err,
        ):
            return subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.folder,
                env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
                stdin=stdin,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def _here(self, command: str) -> str:
        """The command with the addresses and folders of this machine."""
        servers = iter([broker.bootstrap for broker in self.cluster.brokers.values()] * 3)
        command = BROKER.sub(lambda _: next(servers), command)
        command = ZOOKEEPER.sub(f"{self.cluster.zookeeper.address}{PATH}", command)
        return command.replace("/tmp/kafka-logs", str(self.cluster.brokers[1].data_dir))

    def _said(self, stream: str) -> str:
        return (self.folder / stream).read_text(errors="replace")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    folder = tmp_path / "kafka"
    folder.mkdir()
    (folder / "bin").symlink_to(BIN)
    with zookeeper_cluster(tmp_path) as cluster:
        yield Reader(folder, cluster)


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_what_the_books_say_is_what_happens(book: Path, reader: Reader) -> None:
    differences = [
        difference
        for line in read(book.read_text(encoding="utf-8"))
        if (difference := reader.differs(line)) is not None
    ]

    assert not differences, "\n".join(differences)


def test_the_books_have_command_lines_of_all_times() -> None:
    commands = [line.command for book in BOOKS for line in read(book.read_text(encoding="utf-8"))]
    tools = [command for command in commands if "kafka-" in command]

    assert len(tools) >= 60
    assert sum("--zookeeper" in command for command in tools) >= 8
    assert sum("--broker-list" in command for command in tools) >= 8
    assert sum("--bootstrap-server" in command for command in tools) >= 20


def test_a_line_that_is_not_as_expected_is_found() -> None:
    """The patterns are neither too narrow nor too wide."""
    wanted = pattern(["Created topic <name>.", "...", "Topic: t\tId: <id> ..."])

    assert wanted.fullmatch(plain("Created topic a-b.\n\nx\ny\nTopic: t   Id: 7 and more\n"))
    assert wanted.fullmatch(plain("Created topic a.\nTopic: t Id: 7 and more\n"))
    assert not wanted.fullmatch(plain("Created topic a b.\nTopic: t Id: 7 more\n"))
    assert not wanted.fullmatch(plain("Created topic a.\nTopic: t Id: 7 more\nand more\n"))
    assert not pattern([]).fullmatch(plain("anything\n"))

"""What the pages tell people to type works when it is typed.

Indented blocks that begin with a command are run as they stand, page by page and in order, in one
shell; only addresses and paths are exchanged for those of a broker that the test started.
Commands that start a broker get a port of their own, must say that they are ready, and are stopped.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from barnabas_process import BarnabasProcess

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/start/README.md",
    "docs/compatibility.md",
    "docs/tools.md",
    "docs/concepts/storage.md",
    "docs/operate/broker.md",
    "docs/internals/produce-and-fetch.md",
    "docs/internals/storage.md",
    "docs/internals/controller.md",
)
STARTER = re.compile(r"\s*(barnabas start|kafka-server-start)\b")
PREPARED = re.compile(r"\s*(make|export PATH)\b")
"""What the test has done already, or what would test the tests."""
COMMANDS = re.compile(
    r"\s*(barnabas|cat|echo|export|kafka-[a-z-]+|kcat|ls|make|od|printf|python|pip)\b"
)
SAYS = {
    "README.md": ("Created topic greetings.", "witaj", "100000 records came back"),
    "docs/start/README.md": ("hello\n", "PartitionCount: 6", "two coffees", "from kcat"),
    "docs/compatibility.md": ("1 brokers",),
    "docs/tools.md": ("two coffees", "CAUGHT-UP-IN", "records sent", '"current_offset": 1'),
    "docs/concepts/storage.md": ("Created topic ledger.",),
    "docs/operate/broker.md": (),
    "docs/internals/produce-and-fetch.md": ("ProduceRequest", "FetchRequest"),
    "docs/internals/storage.md": ("partition.metadata", "hello"),
    "docs/internals/controller.md": ("RegisterBrokerRecord",),
}


class Commands(NamedTuple):
    """Of one page: what is run in one shell, and what starts brokers."""

    script: str
    starters: list[tuple[str, str]]
    """What the block does before, and the command itself."""


def blocks(page: str) -> list[str]:
    """The indented blocks of a page, without the indentation."""
    found: list[list[str]] = []
    is_text = True
    for line in page.splitlines():
        if line.startswith("    "):
            if is_text:
                found.append([])
            found[-1].append(line[4:])
            is_text = False
        elif line.strip():
            is_text = True
        elif not is_text:
            found[-1].append("")
    return ["\n".join(block).rstrip() + "\n" for block in found]


def commands(page: str) -> Commands:
    script, starters = [], []
    for block in blocks(page):
        if not COMMANDS.match(block):
            continue
        lines = [line for line in block.splitlines() if not PREPARED.match(line)]
        rest = "\n".join(line for line in lines if not STARTER.match(line))
        own = [line for line in lines if STARTER.match(line)]
        starters += [(rest, line) for line in own]
        if not own:
            script.append(rest)
    return Commands("\n".join(script), starters)


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of someone who has installed Barnabas, in an empty directory."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run(script: str, folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n-- said --\n{done.stdout}"
    return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_work_as_they_stand(
    name: str, tmp_path: Path, shell: dict[str, str]
) -> None:
    script = commands((ROOT / name).read_text(encoding="utf-8")).script
    with BarnabasProcess(tmp_path / "data") as broker:
        here = script.replace("localhost:9092", f"127.0.0.1:{broker.port}")
        said = run(here, tmp_path, shell)

    for words in SAYS[name]:
        assert words in said


STARTERS = [
    (name, before, command)
    for name in PAGES
    for before, command in commands((ROOT / name).read_text(encoding="utf-8")).starters
]


@pytest.mark.parametrize(("name", "before", "command"), STARTERS)
def test_a_broker_starts_and_stops_as_a_page_says(
    name: str, before: str, command: str, tmp_path: Path, shell: dict[str, str]
) -> None:
    def here(text: str) -> str:
        free = text.replace("localhost:9092", "localhost:0")
        return free.replace("/tmp/barnabas-data", str(tmp_path / "data"))

    assert ":0" in here(before + command), "it would take the usual port"
    run(here(before), tmp_path, shell)
    process = subprocess.Popen(
        ["bash", "-c", f"exec {here(command)}"],
        cwd=tmp_path,
        env=shell,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        with process.stdout as said:
            first = said.readline()
            assert "started: broker" in first, first + said.read()
            process.send_signal(signal.SIGTERM)
            assert "stopped: broker" in said.read()
        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_pages_have_commands_to_check() -> None:
    """If the pages were written in another way, nothing above would be tested."""
    assert len(STARTERS) >= 3
    for name in PAGES:
        page = (ROOT / name).read_text(encoding="utf-8")
        assert any(COMMANDS.match(block) for block in blocks(page)), name

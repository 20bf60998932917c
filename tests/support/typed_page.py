"""A page of the docs, typed into one shell as it stands."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
IN_BACKGROUND = re.compile(r"started in the background: process (\d+)")
PATIENCE_S = 240
STOP_S = 60


def commands_of(name: str, *, folder: str = "operate") -> str:
    """All commands of the page, one after the other."""
    text = (DOCS / folder / name).read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    return "\n".join(re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks)


def type_in(script: str, folder: Path, *, patience_s: float = PATIENCE_S, **env: str) -> str:
    """What a shell says to `script`, which must succeed.  What it left in the background ends."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = folder / "said"
    with said.open("w") as output:
        try:
            ended = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=folder,
                env={**os.environ, "PATH": path, **env},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=patience_s,
                check=False,
            )
        finally:
            for process in reversed(IN_BACKGROUND.findall(said.read_text())):
                _stop(int(process))
    assert ended.returncode == 0, said.read_text()
    return said.read_text()


def _stop(process: int) -> None:
    """Not a child of ours: its end is awaited by a handle."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return  # the page has ended it
    try:
        os.kill(process, signal.SIGTERM)
        assert select.select([handle], [], [], STOP_S)[0], "it did not stop"
    finally:
        os.close(handle)

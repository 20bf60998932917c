"""Whole clusters under faults, from many seeds: no promise is broken in any of them.

Seeds run in processes of their own, as the order of sets depends on a setting of the interpreter.
A seed that fails prints how to see it again.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SEEDS = 300
SEEDS_PER_PROCESS = 10


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "barnabas.lab.sim", "--jobs", "1", *arguments],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("first", range(1, SEEDS + 1, SEEDS_PER_PROCESS))
def test_no_promise_is_broken(first: int) -> None:
    done = simulate("--first", str(first), "--count", str(SEEDS_PER_PROCESS))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SEEDS_PER_PROCESS} seeds" in done.stdout

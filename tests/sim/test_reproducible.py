"""A seed is enough to see a run again: two processes have the same history, to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
from barnabas.lab.sim.scenario import run_seed
for seed in (8, 10, 24):
    report = run_seed(seed)
    print(report.digest, report.seconds, report.acknowledged, report.polled, report.faults)
"""


def run() -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_same_seed_is_the_same_run_in_another_process() -> None:
    first = run()

    assert first == run()
    assert len(set(first.splitlines())) == 3

"""The simulator finds what it is there to find: each planted bug, within a few seeds.

Without the bug the same seeds with the same faults break no promise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

SEEDS = [seed for seed in range(1, 90) if seed % 10]
"""Clusters: every tenth seed has a single node.  The search ends with the first that finds it."""
SCRIPT = """
import json, sys
from barnabas.lab.sim.planted import PLANTED, Bug, find, nothing
bug, is_planted, *seeds = sys.argv[1:]
wanted = PLANTED[bug] if is_planted == "yes" else Bug(nothing, PLANTED[bug].faults)
report = find(wanted, [int(seed) for seed in seeds])
names = sorted({each.name for each in report.violations}) if report else []
print(json.dumps({"seed": report.seed if report else None, "names": names}))
"""


def search(bug: str, seeds: list[int], *, planted: bool = True) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, bug, "yes" if planted else "no", *map(str, seeds)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("bug", "any_of"),
    [
        ("early ack", {"lost write", "unseen"}),
        ("missing truncation", {"logs differ", "inconsistent offsets", "lost write"}),
        ("stale controller", {"two leaders", "fault inside", "lost write", "unseen"}),
    ],
)
def test_a_planted_bug_is_found(bug: str, any_of: set[str]) -> None:
    found = search(bug, SEEDS)

    assert set(found["names"]) & any_of
    assert search(bug, [found["seed"]], planted=False) == {"seed": None, "names": []}

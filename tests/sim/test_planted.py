"""The simulator finds what it is there to find: each planted bug fails some of a few named seeds.

The same seeds pass without the bug (`test_seeds.py` has them too).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
from barnabas.lab.sim.planted import PLANTED
from barnabas.lab.sim.scenario import run_seed
bug, seeds = sys.argv[1], [int(each) for each in sys.argv[2:]]
with PLANTED[bug]():
    found = {seed: sorted({each.name for each in run_seed(seed).violations}) for seed in seeds}
print(json.dumps(found))
"""


def names_found(bug: str, seeds: tuple[int, ...]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, bug, *map(str, seeds)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for names in json.loads(done.stdout).values() for name in names}


@pytest.mark.parametrize(
    ("bug", "seeds", "any_of"),
    [
        ("early ack", (1, 3, 6, 9), {"lost write", "unseen"}),
        ("missing truncation", (6, 15), {"logs differ", "inconsistent offsets", "lost write"}),
        ("stale controller", (1, 8, 11, 19), {"two leaders", "fault inside"}),
    ],
)
def test_a_planted_bug_is_found(bug: str, seeds: tuple[int, ...], any_of: set[str]) -> None:
    assert names_found(bug, seeds) & any_of

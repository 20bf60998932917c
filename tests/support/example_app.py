"""The project in examples/pytest-app, its tests run as its people run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "pytest-app"
RUN_S = 240
NAMED = re.compile(r"orders-\w+-0 offset (\d+) key order-(\d+) \((?:unseen|poll skip)\)")
PAID = 8
"""Orders before the payments go down."""


def check_example(*arguments: str) -> None:
    """One test fails, the one of the service with the bug, and names the orders that it lost."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=FOLDER,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    output = ran.stdout + ran.stderr
    assert "1 failed, 2 passed" in output, output
    assert "payments_go_down[HastyOrders]" in output, output
    # Where CI is set, pytest repeats the whole message in its summary.
    lost = sorted({int(key) for offset, key in NAMED.findall(output) if offset == key})
    assert lost, output
    assert lost == list(range(PAID, PAID + len(lost))), output
    assert f"not at least once: {len(lost)} lost, 0 duplicated" in output, output

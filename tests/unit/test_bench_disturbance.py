"""What others used of the machine is what the processes of a benchmark did not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def disturbance(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(
        sys, "path", [str(ROOT / "bench"), str(ROOT / "tests" / "conformance"), *sys.path]
    )
    import disturbance

    return disturbance


def test_a_process_that_was_waited_for_counts_with_its_parent(disturbance: Any) -> None:
    before = {1: (10.0, 0.0), 2: (5.0, 0.0)}

    assert disturbance.used(before, {1: (11.0, 5.5)}) == 1.5


def test_a_process_that_nobody_waited_for_takes_nothing_away(disturbance: Any) -> None:
    before = {1: (10.0, 0.0), 2: (500.0, 0.0)}

    assert disturbance.used(before, {1: (11.0, 0.0), 3: (0.25, 0.0)}) == 1.25


def test_a_process_that_has_ended_is_no_error(disturbance: Any) -> None:
    assert list(disturbance.own_times([2**22 + 1])) == [os.getpid()]

"""The page of benchmarks: one part can be measured again without touching the others."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FACTS = {"Other load": "median 1%", "Barnabas": "1, Python 3, uvloop 2"}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(
        sys, "path", [str(ROOT / "bench"), str(ROOT / "tests" / "conformance"), *sys.path]
    )
    import report
    import session
    import targets

    def measured(part: str, metric: str, value: float) -> Any:
        made = session.Session(
            targets=[targets.Apache(), targets.Barnabas()],
            rounds=1,
            quick=True,
            folder=ROOT,
            history=io.StringIO(),
        )
        for target in made.targets:
            sample = {"part": part, "case": "c", "metric": metric, "target": target.name}
            made.note(session.Sample(**sample, round=0, value=value))
        return made

    report.measured = measured
    return report


def test_a_part_that_is_measured_again_replaces_its_own_section(bench: Any) -> None:
    page = bench.markdown(bench.measured("process", "start_s", 1.5), FACTS, "2026-01-01")
    both = bench.refreshed(page, bench.measured("groups", "beat_us", 40.0), FACTS, "2026-01-02")
    again = bench.refreshed(both, bench.measured("groups", "beat_us", 30.0), FACTS, "2026-01-03")

    assert [line for line in again.splitlines() if line.startswith("## ")] == [
        "## Start-up and memory",
        "## Groups",
        "## Notes",
    ]
    assert "| c | start, s | 1.50 | 1.50 | 1.00 |" in again
    assert "| c | broker CPU µs/heartbeat | 30.0 | 30.0 | 1.00 | yes |" in again
    assert "2026-01-02" not in again
    assert "Measured on 2026-01-01, 1 round." in again
    assert "Measured by itself on 2026-01-03: Python 3; 1 round; other load: median 1%." in again


def test_what_was_not_measured_stays_as_it_is(bench: Any) -> None:
    page = bench.markdown(bench.measured("process", "start_s", 1.5), FACTS, "2026-01-01")

    same = bench.refreshed(page, bench.measured("process", "start_s", 1.5), FACTS, "2026-01-01")

    without_date = [line for line in same.splitlines() if "by itself" not in line]
    assert [line for line in without_date if line] == [line for line in page.splitlines() if line]

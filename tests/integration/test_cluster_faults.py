"""Processes of a cluster are killed, frozen and cut off under load: the short form of the soak."""

from __future__ import annotations

from pathlib import Path

import pytest
import soak_cluster

SECONDS = 12


@pytest.mark.parametrize(("journal", "seed"), [("embedded", 4), ("zookeeper", 5)])
def test_nothing_acknowledged_is_lost_doubled_or_reordered(
    tmp_path: Path, journal: str, seed: int
) -> None:
    done: list[str] = []

    verdict = soak_cluster.run(
        tmp_path, journal=journal, seed=seed, seconds=SECONDS, report=done.append, per_s=50
    )

    assert verdict.troubles == []
    assert verdict.violations == [], done
    assert verdict.acknowledged > 0
    assert verdict.polled > 0
    assert verdict.faults

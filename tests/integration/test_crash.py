"""A short form of `make soak`'s crash run: one round of each kind of damage."""

from __future__ import annotations

from pathlib import Path

import crash_rounds


def test_acknowledged_records_survive_kill_9_and_damaged_files(tmp_path: Path) -> None:
    ledger = crash_rounds.run(
        tmp_path / "data", rounds=len(crash_rounds.DAMAGE), seed=2, report=print
    )

    assert ledger.total > 500 * len(crash_rounds.DAMAGE)

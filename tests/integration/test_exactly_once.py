"""A short form of `make soak`'s exactly-once run: workers and broker are killed a few times."""

from __future__ import annotations

from pathlib import Path

import exactly_once
import pytest

RECORDS = 3_000
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_every_record_is_worked_on_once_whoever_is_killed(tmp_path: Path) -> None:
    plan = exactly_once.Plan(
        kind=exactly_once.confluent(),
        rounds=3,
        records=RECORDS,
        seed=11,
        session_timeout_ms=1_000,
        transaction_timeout_ms=3_000,
    )

    seen = exactly_once.run(tmp_path, plan, print)

    assert seen.committed == RECORDS
    assert seen.uncommitted > RECORDS, "nothing was aborted: the run shows little"

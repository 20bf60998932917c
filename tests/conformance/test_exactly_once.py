"""A short form of `make soak`'s exactly-once run, with Java's client at work."""

from __future__ import annotations

from pathlib import Path

import exactly_once
import pytest
from harness.jvm import program

RECORDS = 5_000


@pytest.mark.parametrize("transaction_version", [2, 1])
def test_every_record_is_worked_on_once_whoever_is_killed(
    tmp_path: Path, transaction_version: int
) -> None:
    plan = exactly_once.Plan(
        kind=exactly_once.Kind(name="java", command=program("ExactlyOnceWorker")),
        rounds=4,
        records=RECORDS,
        seed=7,
        transaction_version=transaction_version,
    )

    seen = exactly_once.run(tmp_path, plan, print)

    assert seen.committed == RECORDS
    assert seen.uncommitted > RECORDS, "nothing was aborted: the run shows little"

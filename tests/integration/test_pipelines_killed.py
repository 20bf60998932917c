"""A pipeline is killed, and stopped, in the middle of its work: the short form of the soak."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from pipeline_rounds import archive_rounds

RECORDS = 3000


@pytest.mark.timeout(900)
def test_a_lake_has_each_record_once_after_its_driver_was_killed(
    broker: BarnabasProcess, tmp_path: Path
) -> None:
    archive_rounds(
        broker,
        tmp_path,
        victims=("driver",),
        records=RECORDS,
        chance=random.Random(1),
        report=print,
    )

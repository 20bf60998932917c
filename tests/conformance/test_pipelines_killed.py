"""Parts of pipelines are killed, each once: the middle form of the soak."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from pipeline_rounds import archive_rounds, replay_rounds, transform_rounds

RECORDS = 3000


@pytest.mark.timeout(1800)
def test_each_row_is_there_once_whatever_was_killed(tmp_path: Path) -> None:
    chance = random.Random(2)
    with BarnabasProcess(tmp_path / "data") as broker:
        transform_rounds(
            broker,
            tmp_path,
            victims=("jvm", "executor"),
            records=RECORDS,
            chance=chance,
            report=print,
        )
        sent = archive_rounds(
            broker,
            tmp_path,
            victims=("driver", "executor"),
            records=RECORDS,
            chance=chance,
            report=print,
        )
        replay_rounds(broker, tmp_path, sent, victims=("driver",), chance=chance, report=print)

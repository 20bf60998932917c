"""The pages about pipelines are typed as they stand; only the broker's address is exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from typed_page import commands_of, type_in

DONE_ALREADY = ("make run\n", 'export PATH="$PWD/.venv/bin:$PATH"\n')
PATIENCE_S = 1200


@pytest.mark.timeout(1500)
def test_the_tour_works_as_it_stands(tmp_path: Path) -> None:
    script = commands_of("README.md", folder="pipelines")
    for line in DONE_ALREADY:
        assert line in script
        script = script.replace(line, "")
    with BarnabasProcess(tmp_path / "data") as broker:
        here = script.replace("localhost:9092", broker.bootstrap)
        said = type_in(here, tmp_path, patience_s=PATIENCE_S)

    assert "sent 20,000 records to prices" in said
    assert '"symbol":' in said
    assert "8000 positions are drawn in tour.svg" in said
    assert "replayed: 8,000 records" in said
    assert "trucks-again:2:" in said
    assert said.count("foreign") == 2, "a table of each comparison, and nothing below it"
    assert (tmp_path / "tour.svg").read_text().count("<polyline") == 14


@pytest.mark.timeout(600)
def test_the_example_of_reconcile_works_as_it_stands(tmp_path: Path) -> None:
    said = type_in(commands_of("reconcile.md", folder="pipelines"), tmp_path, patience_s=PATIENCE_S)

    assert f"t-0 3: sent {tmp_path}/producer.log:3" in said
    assert "they differ" in said

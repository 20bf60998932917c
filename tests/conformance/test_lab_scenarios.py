"""The lab's scenarios, run as people run them; those that break no broker on Apache Kafka, too.

What the lab predicts must come out on both: else it would teach something about Barnabas only.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from harness.barnabas import BIN
from harness.brokers import Broker

from barnabas.lab.scenarios.catalogue import all_scenarios

OUTSIDE = [each.name for each in all_scenarios().values() if each.outside]


def outcomes(*words: str) -> Any:
    done = subprocess.run(
        [str(BIN / "barnabas"), "lab", "run", *words, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_what_the_lab_predicts_comes_out(target: Broker) -> None:
    found = outcomes("--all", "--bootstrap-server", target.bootstrap)

    assert [each["name"] for each in found] == OUTSIDE
    assert [each["surprises"] for each in found] == [[] for _ in OUTSIDE]


def test_lost_answers_double_records_unless_the_producer_is_idempotent() -> None:
    broken, fixed = outcomes("3.4", "3.4-fix")

    assert broken["duplicated"] > 0
    assert {each["name"] for each in broken["offending"]} >= {"duplicate"}
    assert (fixed["lost"], fixed["duplicated"], fixed["reordered"]) == (0, 0, 0)

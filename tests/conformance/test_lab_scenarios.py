"""The lab's scenarios that break no broker, run as people run them, on Apache Kafka and on ours.

What the lab predicts must come out on both: else it would teach something about Barnabas only.
"""

from __future__ import annotations

import json
import subprocess

from harness.barnabas import BIN
from harness.brokers import Broker

from barnabas.lab.scenarios.catalogue import all_scenarios

OUTSIDE = [each.name for each in all_scenarios().values() if each.outside]


def test_what_the_lab_predicts_comes_out(target: Broker) -> None:
    words = ["lab", "run", "--all", "--json", "--bootstrap-server", target.bootstrap]
    done = subprocess.run(
        [str(BIN / "barnabas"), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [each["name"] for each in found] == OUTSIDE
    assert [each["surprises"] for each in found] == [[] for _ in OUTSIDE]

"""A cluster that is just there, and a run in which nothing breaks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.scenarios.stage import Stage


def deploy(stage: Stage) -> None:
    """Exercise 1.1: what a new cluster says of itself."""
    wanted = set(stage.cluster.brokers)
    stage.see("all-brokers", stage.cluster.live_brokers() == wanted)
    command = ["topics", "--bootstrap-server", stage.cluster.bootstrap, "--list"]
    listed = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", *command],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    stage.step("kafka-topics --list")
    stage.see("no-topics", listed.stdout.strip() == "")


def baseline(stage: Stage) -> None:
    """Exercise 2.2a: one side sends, the other reads."""
    stage.create_topic()
    stage.produce()
    stage.read_all()

"""What the plays about elections take for seen."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from barnabas.lab.scenarios.plays.elections import network_partition


@pytest.mark.parametrize(
    ("said_by_3", "is_seen"), [({0: 500}, True), ({}, False)], ids=["leads", "does not lead"]
)
def test_a_second_leader_is_seen_only_while_the_first_one_answers(
    said_by_3: dict[int, int], is_seen: bool
) -> None:
    stage = MagicMock()
    stage.scenario.producer = {"acks": "all"}
    stage.param.return_value = 500
    stage.wait_view.return_value = {0: SimpleNamespace(leader=1)}
    stage.cluster.eyes.offsets.return_value = said_by_3

    network_partition(stage)

    stage.see.assert_called_once_with("second-leader", is_seen)
    assert stage.cluster.eyes.offsets.call_args.args[0] == 3

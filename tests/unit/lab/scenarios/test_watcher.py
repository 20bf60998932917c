"""What is seen of a run from aside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from barnabas.lab.cluster.broker import LabBroker
from barnabas.lab.cluster.view import PartitionView
from barnabas.lab.faults.traffic import Traffic
from barnabas.lab.scenarios.ledger import Counts
from barnabas.lab.scenarios.watcher import partitions_of, state_of


@pytest.mark.parametrize(
    ("running", "frozen", "known", "word"),
    [
        (True, False, {1, 2}, "up"),
        (False, False, {1, 2}, "down"),
        (True, True, {1, 2}, "frozen"),
        (True, False, {2}, "away"),
    ],
)
def test_a_broker_is_up_when_it_runs_and_clients_are_told_of_it(
    running: bool, frozen: bool, known: set[int], word: str
) -> None:
    broker = cast(LabBroker, SimpleNamespace(id=1, running=running, frozen=frozen))

    assert state_of(broker, known) == word


def test_a_partition_is_what_brokers_say_followers_ask_for_and_clients_logged() -> None:
    view = PartitionView(
        partition=0, leader=1, leader_epoch=3, replicas=(1, 2, 3), isr=(1, 2), end_offset=80
    )
    traffic = Traffic()
    traffic.acked_end["lab", 0] = 100
    traffic.positions["lab", 0, 2] = 90
    counts = Counts()
    counts.acked[0] = 95
    counts.processed[0] = 70

    (look,) = partitions_of("lab", {0: view}, traffic, counts).values()

    assert (look.leader, look.replicas, look.isr) == (1, (1, 2, 3), (1, 2))
    assert look.ends == {1: 100, 2: 90}
    assert (look.acked, look.replicated, look.received) == (95, 90, 70)


def test_without_a_leader_nobody_says_where_its_log_ends() -> None:
    view = PartitionView(partition=0, leader=None, leader_epoch=3, replicas=(1,), isr=(1,))

    (look,) = partitions_of("lab", {0: view}, Traffic(), Counts()).values()

    assert (look.leader, look.ends, look.replicated) == (None, {}, None)

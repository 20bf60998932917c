"""The broker that tests share is handed on whole."""

from __future__ import annotations

from typing import Any, cast

import pytest

from barnabas.lab.cluster.base import Cluster
from barnabas.lab.testing.kafka import Kafka


class SharedCluster:
    """Notes what is done to it; lifting faults fails."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.faults = self.eyes = self
        self.brokers = {1: self}

    def create_topic(self, *_: Any) -> None:
        self.notes.append("create topic")

    def lift_all(self) -> None:
        self.notes.append("lift")
        raise RuntimeError("cannot be lifted")

    def revive(self) -> None:
        self.notes.append("revive")

    def delete_topics(self, topics: list[str]) -> None:
        self.notes.append(f"delete {len(topics)}")


def test_brokers_run_and_topics_are_gone_even_if_a_fault_cannot_be_lifted() -> None:
    cluster = SharedCluster()
    kafka = Kafka(cast("Cluster", cluster))
    kafka.topic()

    with pytest.raises(RuntimeError, match="cannot be lifted"):
        kafka.close()

    assert cluster.notes == ["create topic", "lift", "revive", "delete 1"]

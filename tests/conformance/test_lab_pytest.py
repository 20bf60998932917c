"""Tests that were written with the pytest fixtures, on any Kafka by its address."""

from __future__ import annotations

from example_app import check_example
from harness.brokers import Broker


def test_the_example_finds_its_bug_and_loses_an_acknowledgement(target: Broker) -> None:
    check_example("--kafka-bootstrap", target.bootstrap)

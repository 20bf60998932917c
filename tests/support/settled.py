"""Answers of confluent-kafka's admin client, as a test would have them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException


def settled(outcome: Any) -> Future[Any]:
    """A future that has its result already, or its error."""
    future: Future[Any] = Future()
    if isinstance(outcome, KafkaError):
        future.set_exception(KafkaException(outcome))
    else:
        future.set_result(outcome)
    return future

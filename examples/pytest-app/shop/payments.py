"""Whoever takes the money."""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import Message


class PaymentsDown(Exception):  # noqa: N818 (says what happened)
    """The payment service does not answer."""


class Payments(Protocol):
    def pay(self, order: Message) -> None:
        """Charge the customer.  PaymentsDown if that was not possible."""

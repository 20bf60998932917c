"""The service with the bug."""

from __future__ import annotations

from confluent_kafka import Message

from shop.service import OrderService


class HastyOrders(OrderService):
    """Commits what it has received.  What it does not get done then is lost."""

    def handle(self, orders: list[Message]) -> None:
        self._consumer.commit(asynchronous=False)
        for order in orders:
            self._payments.pay(order)

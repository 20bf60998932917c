"""What both order services have in common: a consumer, and when the work is done."""

from __future__ import annotations

from abc import ABC, abstractmethod

from confluent_kafka import Consumer, Message

from shop.payments import Payments

BATCH = 20
WAIT_S = 1.0


class OrderService(ABC):
    """Works on the orders that are there, until none is left."""

    def __init__(self, bootstrap: str, topic: str, group: str, payments: Payments) -> None:
        self._topic = topic
        self._payments = payments
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )

    def run(self) -> None:
        self._consumer.subscribe([self._topic])
        is_done = False
        try:
            while not is_done:
                messages = self._consumer.consume(BATCH, WAIT_S)
                is_done = any(_is_end(message) for message in messages)
                orders = [message for message in messages if message.error() is None]
                if orders:
                    self.handle(orders)
        finally:
            self._consumer.close()

    @abstractmethod
    def handle(self, orders: list[Message]) -> None:
        """Have some orders paid, and commit them."""


def _is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.name() == "_PARTITION_EOF"

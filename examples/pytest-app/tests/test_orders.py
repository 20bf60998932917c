"""No order is lost, whatever goes down meanwhile.  One of the two services does not keep that."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Message, Producer
from shop.careful import CarefulOrders
from shop.hasty import HastyOrders
from shop.payments import PaymentsDown
from shop.service import OrderService

ORDERS = 20


class RecordedPayments:
    """A double of the payment service: notes what was paid, and goes down when it is told to."""

    def __init__(self, history, down_after: int = ORDERS) -> None:
        self._history = history
        self._left = down_after

    def pay(self, order: Message) -> None:
        if self._left == 0:
            raise PaymentsDown
        self._left -= 1
        self._history.processed(order)


def place_orders(bootstrap: str, topic: str, history) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(ORDERS):
        order = {"id": f"order-{number}", "amount": 10 + number}
        producer.produce(topic, json.dumps(order), order["id"], on_delivery=history.delivered)
    assert producer.flush(60) == 0


@pytest.mark.parametrize("service", [HastyOrders, CarefulOrders])
def test_every_order_is_paid_though_the_payments_go_down(
    kafka, history, assert_delivery, service: type[OrderService]
) -> None:
    topic, group = kafka.topic("orders"), kafka.group("shop")
    place_orders(kafka.bootstrap, topic, history)

    with pytest.raises(PaymentsDown):
        service(kafka.bootstrap, topic, group, RecordedPayments(history, 8)).run()
    service(kafka.bootstrap, topic, group, RecordedPayments(history)).run()

    assert_delivery("at_least_once")


def test_an_order_is_paid_once_though_its_acknowledgement_was_lost(
    kafka, faults, history, assert_delivery
) -> None:
    topic, group = kafka.topic("orders"), kafka.group("shop")
    lost = faults.lose_ack(topic)

    place_orders(kafka.bootstrap, topic, history)
    CarefulOrders(kafka.bootstrap, topic, group, RecordedPayments(history)).run()

    assert lost.hits == 1
    assert_delivery("exactly_once")

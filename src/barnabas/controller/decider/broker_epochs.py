"""Only the current registration of a broker may change anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import StaleBrokerEpoch

if TYPE_CHECKING:
    from barnabas.controller.image import BrokerImage, ClusterImage


def check_epoch(image: ClusterImage, broker_id: int, epoch: int) -> BrokerImage:
    """The broker, if `epoch` is that of its registration; else StaleBrokerEpoch."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise StaleBrokerEpoch(f"No broker registration found for broker id {broker_id}")
    if broker.epoch != epoch:
        raise StaleBrokerEpoch(
            f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
        )
    return broker

"""The transaction coordinator of this broker: the runtime's shards, wired to logs and metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.broker.coordination import Coordination
from barnabas.broker.markers import Markers
from barnabas.broker.verifying import Verifying
from barnabas.coordinator.runtime import Runtime
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.records import KEY_TYPES
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.shard import TransactionShard

if TYPE_CHECKING:
    from barnabas.broker.handlers.producer_ids import ProducerIds
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ImageChanges

TRANSACTIONS_TOPIC = "__transaction_state"
FEATURE = "transaction.version"


class _Ids:
    """The broker's producer ids, as shards ask for them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def take(self) -> int | None:
        ids: ProducerIds = self._broker.producer_ids
        return ids.take_now(self._broker)


class Transactions(Coordination):
    """`Coordination` of `__transaction_state`, and what a leader of other partitions asks of it."""

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        *,
        schedule_turn: Callable[[], None],
    ) -> None:
        super().__init__(
            broker,
            loop,
            topic=TRANSACTIONS_TOPIC,
            settings_prefix="transaction.state.log",
            schedule_turn=schedule_turn,
        )
        self.markers = Markers(broker, loop, schedule_turn=schedule_turn)
        self.verifying = Verifying(broker, loop, schedule_turn=schedule_turn)
        self._ids = _Ids(broker)
        self.runtime = Runtime(
            make_shard=self._new_shard,
            types=KEY_TYPES,
            appender=self,
            reload=self.reload,
            effect=self._carry_out,
        )

    def _new_shard(self, partition: int, epoch: int) -> TransactionShard:
        return TransactionShard(
            coordinator_epoch=epoch, settings=self._settings(), producer_ids=self._ids
        )

    def _settings(self) -> TransactionSettings:
        level = self.broker.image.features.get(FEATURE, 0)
        return TransactionSettings.of(self.broker.config, transaction_version=level)

    def _topic_settings(self, factor: int) -> dict[str, str]:
        min_isr = min(factor, self.broker.config.int("transaction.state.log.min.isr"))
        return {
            **super()._topic_settings(factor),
            "compression.type": "uncompressed",
            "min.insync.replicas": str(min_isr),
            "unclean.leader.election.enable": "false",
        }

    def _carry_out(self, partition: int, effect: Any) -> None:
        assert isinstance(effect, WriteMarkers)
        self.markers.begin(effect)

    def apply(self, changes: ImageChanges) -> None:
        super().apply(changes)
        self.verifying.apply(changes)
        if FEATURE in changes.features or changes.configs:
            settings = self._settings()
            for index in self.runtime.partitions():
                shard = self.runtime.shard(index)
                if shard is not None:
                    assert isinstance(shard, TransactionShard)
                    shard.settings = settings

    def stop(self) -> None:
        self.markers.stop()
        super().stop()

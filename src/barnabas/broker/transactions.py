"""The transaction coordinator of this broker: the runtime's shards, wired to logs and metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from barnabas.broker.coordination import Coordination, TopicSettings

if TYPE_CHECKING:
    from barnabas.broker.markers import Markers
    from barnabas.broker.state import Broker
    from barnabas.broker.verifying import Verifying
    from barnabas.controller.image import ImageChanges
    from barnabas.coordinator.runtime import Runtime
    from barnabas.coordinator.txn.settings import TransactionSettings
    from barnabas.coordinator.txn.shard import TransactionShard

TRANSACTIONS_TOPIC = "__transaction_state"
FEATURE = "transaction.version"


class _Ids:
    """The broker's producer ids, as shards ask for them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def take(self) -> int | None:
        return self._broker.producer_ids.take_now(self._broker)


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
            topic_settings=TopicSettings(
                partitions="transaction.state.log.num.partitions",
                replication_factor="transaction.state.log.replication.factor",
                segment_bytes="transaction.state.log.segment.bytes",
            ),
            schedule_turn=schedule_turn,
        )
        self._ids = _Ids(broker)

    @cached_property
    def markers(self) -> Markers:
        """What this coordinator ends."""
        from barnabas.broker.markers import Markers

        return Markers(self.broker, self._loop, schedule_turn=self._schedule_turn)

    @cached_property
    def verifying(self) -> Verifying:
        """What this broker asks, as a leader of partitions, of coordinators."""
        from barnabas.broker.verifying import Verifying

        return Verifying(self.broker, self._loop, schedule_turn=self._schedule_turn)

    def make_runtime(self) -> Runtime:
        from barnabas.coordinator.runtime import Runtime
        from barnabas.coordinator.txn.records import KEY_TYPES

        return Runtime(
            make_shard=self._new_shard,
            types=KEY_TYPES,
            appender=self,
            reload=self.reload,
            at_turn_end=self.at_turn_end,
            effect=self._carry_out,
        )

    def _new_shard(self, partition: int, epoch: int) -> TransactionShard:
        from barnabas.coordinator.txn.shard import TransactionShard

        return TransactionShard(
            coordinator_epoch=epoch, settings=self._settings(), producer_ids=self._ids
        )

    def _settings(self) -> TransactionSettings:
        from barnabas.coordinator.txn.settings import TransactionSettings

        level = self.broker.image.features.get(FEATURE, 0)
        return TransactionSettings.of(self.broker.config, transaction_version=level)

    def _topic_configs(self, factor: int) -> dict[str, str]:
        min_isr = min(factor, self.broker.config.int("transaction.state.log.min.isr"))
        return {
            **super()._topic_configs(factor),
            "compression.type": "uncompressed",
            "min.insync.replicas": str(min_isr),
            "unclean.leader.election.enable": "false",
        }

    def _carry_out(self, partition: int, effect: Any) -> None:
        """The one kind of effect that transactions have: `WriteMarkers`."""
        self.markers.begin(effect)

    def apply(self, changes: ImageChanges) -> None:
        super().apply(changes)
        if "verifying" in self.__dict__:
            self.verifying.apply(changes)
        if not self.is_asleep and (FEATURE in changes.features or changes.configs):
            settings = self._settings()
            for index in self.led_partitions():
                shard: Any = self.runtime.shard(index)
                if shard is not None:
                    shard.settings = settings

    def forget_old(self, now_ms: int) -> None:
        """Called now and then: questions that nobody comes back for."""
        if "verifying" in self.__dict__:
            self.verifying.forget_old(now_ms)

    def stop(self) -> None:
        if "markers" in self.__dict__:
            self.markers.stop()
        super().stop()

"""Replication of one broker: what it follows, and whom it wants in sync where it leads.

Made with the broker, asleep until a partition has a replica elsewhere: a single node has nothing of
it.  Loop thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.replication import leading

if TYPE_CHECKING:
    from barnabas.broker.fetchers import Fetchers
    from barnabas.broker.isr import IsrChanges
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ImageChanges
    from barnabas.replication.partition import Partition


class Replicating:
    """Hooks itself into the replica manager; `apply` after it, `stop` before the logs close."""

    def __init__(
        self,
        broker: Broker,
        loop: asyncio.AbstractEventLoop,
        *,
        schedule_turn: Callable[[], None],
    ) -> None:
        self._broker = broker
        self._loop = loop
        self._schedule_turn = schedule_turn
        self._fetchers: Fetchers | None = None
        self._isr: IsrChanges | None = None
        self._lag_timer: asyncio.TimerHandle | None = None
        self._is_stopped = False
        broker.replicas.tells_watermarks = broker.is_rack_aware
        self._set_throttles()
        broker.replicas.on_moved = self._moved
        broker.replicas.on_isr_wanted = self._isr_wanted

    def _moved(self, partition: Partition) -> None:
        if partition.is_alone or self._is_stopped:
            return
        if self._fetchers is None:
            from barnabas.broker.fetchers import Fetchers

            self._fetchers = Fetchers(self._broker, self._loop, schedule_turn=self._schedule_turn)
            self._check_lag()
        self._fetchers.moved(partition)

    def _isr_wanted(self, partition: Partition) -> None:
        if self._is_stopped:
            return
        if self._isr is None:
            from barnabas.broker.isr import IsrChanges

            self._isr = IsrChanges(self._broker, self._loop)
        self._isr.want(partition)

    def apply(self, changes: ImageChanges) -> None:
        """The metadata changed, and the replica manager has followed it."""
        if changes.configs:
            self._set_throttles()
            if self._fetchers is not None:
                self._fetchers.throttles_changed()
        if self._fetchers is None or not changes.brokers:
            return
        for partition in self._broker.replicas.all():
            if partition.followers is not None:
                leading.recheck(self._broker.replicas, partition)
        for node_id in changes.brokers:
            self._fetchers.broker_changed(node_id)

    def _set_throttles(self) -> None:
        config, replicas = self._broker.config, self._broker.replicas
        now = self._broker.clock.monotonic()
        for throttle, name in (
            (replicas.leader_throttle, "leader.replication.throttled.rate"),
            (replicas.follower_throttle, "follower.replication.throttled.rate"),
        ):
            throttle.set_rate(config.optional_int(name), now)

    def _check_lag(self) -> None:
        """Twice in `replica.lag.time.max.ms`, so that nobody is in sync for long who is not."""
        lag_s = self._broker.replicas.terms.lag_s
        self._lag_timer = self._loop.call_later(lag_s / 2, self._check_lag)
        leading.check_lag(self._broker.replicas, self._broker.clock.monotonic())

    def stop(self) -> None:
        self._is_stopped = True
        if self._lag_timer is not None:
            self._lag_timer.cancel()
        if self._fetchers is not None:
            self._fetchers.stop()
        if self._isr is not None:
            self._isr.stop()

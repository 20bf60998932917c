"""A partition leader's side of transactions: what it asks the coordinator before it appends.

The rules are in `coordinator/txn/verification.py`; here are the questions of all partitions of this
broker, and the way to the coordinator.  Loop thread only, memory only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.txn.api import errors_of, request_of
from barnabas.coordinator.txn.events import AddPartitions, PartitionErrors
from barnabas.coordinator.txn.machine import EPOCH_BUMPS, TopicPartition
from barnabas.coordinator.txn.verification import (
    UNGUARDED,
    Guard,
    Operation,
    Verifications,
    asks_again,
)
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image import ImageChanges
    from barnabas.coordinator.runtime_types import Producer
    from barnabas.protocol.message import Message
    from barnabas.storage.log import Log

RETRY_SETTING = "add.partitions.to.txn.retry.backoff.ms"
TIMEOUT_S = 30.0
PATIENCE_SETTING = "add.partitions.to.txn.retry.backoff.max.ms"


class Verifying:
    """The questions of the partitions that this broker leads."""

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
        self._partitions: dict[TopicPartition, Verifications] = {}
        self._look_at_ms = 0

    def begin(
        self,
        where: TopicPartition,
        log: Log,
        producer: Producer,
        sequence: int,
        operation: Operation,
    ) -> Guard:
        """UNGUARDED: the batch may be appended at once.  Otherwise `ask`, then `may_append`."""
        is_asked = operation is Operation.ADD or self._broker.config.bool(
            "transaction.partition.verification.enable"
        )
        if not is_asked or _is_open(log, producer):
            return UNGUARDED
        verifications = self._partitions.get(where)
        if verifications is None:
            verifications = self._partitions[where] = Verifications()
        return verifications.begin(
            producer.producer_id,
            producer.producer_epoch,
            sequence,
            is_open=False,
            now_ms=self._broker.clock.now_ms(),
        )

    def ask(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: frozenset[TopicPartition],
        operation: Operation,
        done: Callable[[PartitionErrors], None],
    ) -> None:
        """What the coordinator says of these partitions: maybe before this returns."""
        event = AddPartitions(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            partitions=partitions,
            client_version=EPOCH_BUMPS,
            verify_only=operation is not Operation.ADD,
        )
        self._ask(event, operation, self._broker.transactions.now_ms(), done)

    def _ask(
        self,
        event: AddPartitions,
        operation: Operation,
        asked_ms: int,
        done: Callable[[PartitionErrors], None],
    ) -> None:
        config, transactions = self._broker.config, self._broker.transactions

        def answered(errors: PartitionErrors) -> None:
            code = next(filter(None, errors.values()), ErrorCode.NONE)
            if asks_again(
                code,
                operation,
                asked_ms=asked_ms,
                now_ms=transactions.now_ms(),
                patience_ms=config.int(PATIENCE_SETTING),
            ):
                self._loop.call_later(
                    config.int(RETRY_SETTING) / 1000, self._ask, event, operation, asked_ms, done
                )
            else:
                done(errors)
                self._schedule_turn()

        leader = transactions.leader_of(event.transactional_id)
        if leader is None or leader == self._broker.node_id:
            transactions.schedule(event.transactional_id, event, answered)
            return

        def told(response: Message | None) -> None:
            assert response is None or isinstance(response, AddPartitionsToTxnResponse)
            if response is None:
                answered(dict.fromkeys(event.partitions, ErrorCode.NETWORK_EXCEPTION))
            else:
                answered(dict(errors_of(response, [event])[event.transactional_id]))

        self._broker.connections.send(leader, request_of([event]), told, timeout_s=TIMEOUT_S)

    def may_append(
        self, where: TopicPartition, log: Log, producer: Producer, sequence: int, guard: Guard
    ) -> ErrorCode:
        """The coordinator has agreed: does that still count?"""
        if guard == UNGUARDED:
            return ErrorCode.NONE
        return self._partitions.get(where, Verifications()).may_append(
            producer.producer_id,
            producer.producer_epoch,
            sequence,
            guard,
            is_open=_is_open(log, producer),
        )

    def settled(self, where: TopicPartition, producer_id: int) -> None:
        """A transactional batch or a marker of the producer was appended."""
        verifications = self._partitions.get(where)
        if verifications is not None:
            verifications.settled(producer_id)

    # -- forgetting

    def apply(self, changes: ImageChanges) -> None:
        for topic in changes.topics_deleted.values():
            for index in range(len(topic.partitions)):
                self._partitions.pop(TopicPartition(topic.name, index), None)

    def forget_old(self, now_ms: int) -> None:
        """Called now and then: questions of producers that never came back."""
        if now_ms < self._look_at_ms:
            return
        config = self._broker.config
        self._look_at_ms = now_ms + config.int("producer.id.expiration.check.interval.ms")
        for verifications in self._partitions.values():
            verifications.expire(now_ms, config.int("producer.id.expiration.ms"))


def _is_open(log: Log, producer: Producer) -> bool:
    """Whether the log has records of an open transaction of this producer."""
    entry = log.producers.entries.get(producer.producer_id)
    return (
        entry is not None
        and entry.producer_epoch == producer.producer_epoch
        and entry.transaction_start >= 0
    )

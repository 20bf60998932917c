"""A transaction shard and all that it needs, without a broker: ids, a log, time as a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from barnabas.base.errors import ApiError
from barnabas.coordinator import runtime_codec
from barnabas.coordinator.runtime_types import CoordinatorRecord, Decision
from barnabas.coordinator.txn import events as ev
from barnabas.coordinator.txn.machine import TopicPartition
from barnabas.coordinator.txn.records import KEY_TYPES
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.shard import TransactionShard
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest

Stored = tuple[bytes, bytes | None]
SETTINGS = TransactionSettings()
A0 = TopicPartition("a", 0)
A1 = TopicPartition("a", 1)
B0 = TopicPartition("b", 0)
V1 = 0
V2 = 2


class Ids:
    """Producer ids from 100 on, as long as there are any."""

    def __init__(self, first: int = 100) -> None:
        self.numbers: Iterator[int] = count(first)
        self.is_empty = False

    def take(self) -> int | None:
        return None if self.is_empty else next(self.numbers)


def stored(record: CoordinatorRecord) -> Stored:
    """The record as it is in the log."""
    return runtime_codec.encode(record)


def compacted(log: Iterable[Stored]) -> list[Stored]:
    """The last record of each key, in log order; tombstones are gone."""
    last: dict[bytes, bytes | None] = {}
    for key, value in log:
        last.pop(key, None)
        last[key] = value
    return [(key, value) for key, value in last.items() if value is not None]


def loaded_shard(
    log: Iterable[Stored],
    *,
    ids: Ids,
    settings: TransactionSettings = SETTINGS,
    epoch: int = 0,
    now_ms: int = 0,
) -> TransactionShard:
    """A shard that has replayed `log`."""
    shard = TransactionShard(coordinator_epoch=epoch, settings=settings, producer_ids=ids)
    for key, value in log:
        record = runtime_codec.decode(KEY_TYPES, key, value)
        assert record is not None
        shard.replay(record, producer=None)
    shard.loaded(now_ms)
    return shard


class Coordinator:
    """A shard with its log: carries out decisions at once, as if they were committed at once."""

    def __init__(self, settings: TransactionSettings = SETTINGS) -> None:
        self.ids = Ids()
        self.log: list[Stored] = []
        self.shard = loaded_shard((), ids=self.ids, settings=settings)
        self.effects: list[Any] = []

    def do(self, event: ev.TransactionEvent, now_ms: int = 0) -> Any:
        """The reply; records are written and replayed, effects noted."""
        try:
            decision = self.shard.decide(event, ticket=1, now_ms=now_ms)
        except ApiError as error:
            return event.refuse(error)
        return self.carry_out(decision)

    def carry_out(self, decision: Decision) -> Any:
        for record in decision.records:
            self.log.append(stored(record))
            self.shard.replay(record, producer=None)
        self.effects += decision.effects
        return decision.reply

    def tick(self, now_ms: int) -> list[Decision]:
        decisions = []
        for decision in self.shard.tick(now_ms):
            decisions.append(decision)
            self.carry_out(decision)
        return decisions

    def restart(self, *, now_ms: int = 0, compact: bool = False) -> None:
        """Forget everything but the log."""
        if compact:
            self.log = compacted(self.log)
        self.shard = loaded_shard(
            self.log,
            ids=self.ids,
            settings=self.shard.settings,
            epoch=self.shard.coordinator_epoch + 1,
            now_ms=now_ms,
        )


def init(
    name: str = "t",
    *,
    producer_id: int = -1,
    epoch: int = -1,
    timeout_ms: int = 60_000,
    version: int = 5,
) -> ev.InitProducerId:
    return ev.InitProducerId(
        request=InitProducerIdRequest(
            transactional_id=name,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        ),
        version=version,
    )


def add(
    producer_id: int,
    epoch: int,
    *partitions: TopicPartition,
    name: str = "t",
    client_version: int = V2,
    verify_only: bool = False,
) -> ev.AddPartitions:
    return ev.AddPartitions(
        transactional_id=name,
        producer_id=producer_id,
        producer_epoch=epoch,
        partitions=frozenset(partitions),
        client_version=client_version,
        verify_only=verify_only,
    )


def add_offsets(
    producer_id: int, epoch: int, *, name: str = "t", version: int = 4
) -> ev.AddOffsets:
    return ev.AddOffsets(
        request=AddOffsetsToTxnRequest(
            transactional_id=name, producer_id=producer_id, producer_epoch=epoch, group_id="g"
        ),
        version=version,
        partition=TopicPartition("__consumer_offsets", 7),
    )


def end(
    producer_id: int, epoch: int, *, commit: bool = True, name: str = "t", version: int = 5
) -> ev.EndTxn:
    return ev.EndTxn(
        request=EndTxnRequest(
            transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=commit
        ),
        version=version,
    )


def markers_written(producer_id: int, epoch: int, name: str = "t") -> ev.MarkersWritten:
    return ev.MarkersWritten(transactional_id=name, producer_id=producer_id, producer_epoch=epoch)

"""The shard behind the runtime: nothing leaves before it is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transactions import A0, SETTINGS, Ids, add, end, init, markers_written

from barnabas.base.errors import ErrorCode, NotEnoughReplicas
from barnabas.coordinator.runtime import NEVER, Runtime
from barnabas.coordinator.txn import events as ev
from barnabas.coordinator.txn.effects import WriteMarkers
from barnabas.coordinator.txn.machine import TransactionState
from barnabas.coordinator.txn.records import KEY_TYPES
from barnabas.coordinator.txn.shard import TransactionShard


class Log:
    """An appender that commits when it is told to."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.waiting: list[Callable[[Exception | None], None]] = []
        self.is_full = False

    def check(self, partition: int) -> None:
        if self.is_full:
            raise NotEnoughReplicas

    def append(
        self, partition: int, batch: bytearray, committed: Callable[[Exception | None], None]
    ) -> None:
        self.check(partition)
        self.batches.append(bytes(batch))
        self.waiting.append(committed)

    def commit(self) -> None:
        waiting, self.waiting = self.waiting, []
        for committed in waiting:
            committed(None)


class Broker:
    def __init__(self) -> None:
        self.log = Log()
        self.ids = Ids()
        self.effects: list[Any] = []
        self.replies: list[Any] = []
        self.start()

    def start(self, epoch: int = 0) -> None:
        self.runtime = Runtime(
            make_shard=lambda _, epoch: TransactionShard(
                coordinator_epoch=epoch, settings=SETTINGS, producer_ids=self.ids
            ),
            types=KEY_TYPES,
            appender=self.log,
            reload=lambda partition, epoch: None,
            effect=lambda _, effect: self.effects.append(effect),
        )
        assert self.runtime.load(0, self.log.batches, epoch=epoch, now_ms=0)

    def send(self, event: ev.TransactionEvent, now_ms: int = 0) -> None:
        self.runtime.schedule(0, event, self.replies.append, now_ms=now_ms)

    @property
    def shard(self) -> TransactionShard:
        shard = self.runtime.shard(0)
        assert isinstance(shard, TransactionShard)
        return shard


def test_replies_and_markers_wait_for_the_commit() -> None:
    broker = Broker()
    broker.send(init())
    broker.send(add(100, 0, A0))
    broker.send(end(100, 0))
    assert broker.replies == broker.effects == []
    broker.log.commit()
    assert [getattr(reply, "error_code", 0) for reply in broker.replies] == [0, 0, 0]
    (markers,) = broker.effects
    assert isinstance(markers, WriteMarkers)


def test_a_refusal_that_rests_on_an_uncommitted_change_waits_too() -> None:
    broker = Broker()
    broker.send(init())
    broker.send(init())
    broker.send(add(100, 0, A0))
    assert broker.replies == []
    broker.log.commit()
    assert broker.replies[-1] == {A0: ErrorCode.PRODUCER_FENCED}


def test_what_cannot_be_written_is_refused_and_changes_nothing() -> None:
    broker = Broker()
    broker.send(init())
    broker.log.commit()
    broker.log.is_full = True
    broker.send(add(100, 0, A0))
    assert broker.replies[-1] == {A0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert broker.shard.transactions["t"].state is TransactionState.EMPTY
    broker.log.is_full = False
    broker.send(add(100, 0, A0))
    broker.log.commit()
    assert broker.replies[-1] == {A0: ErrorCode.NONE}


def test_a_completion_that_cannot_be_written_can_be_said_again() -> None:
    broker = Broker()
    for event in (init(), add(100, 0, A0), end(100, 0)):
        broker.send(event)
    broker.log.commit()
    broker.log.is_full = True
    broker.send(markers_written(100, 1))
    assert broker.replies[-1] is ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.log.is_full = False
    broker.send(markers_written(100, 1))
    broker.log.commit()
    assert broker.shard.transactions["t"].state is TransactionState.COMPLETE_COMMIT


def test_the_next_coordinator_reads_the_log_and_finishes_what_was_prepared() -> None:
    broker = Broker()
    for event in (init(), add(100, 0, A0), end(100, 0)):
        broker.send(event)
    broker.log.commit()
    before = broker.shard.transactions
    broker.effects.clear()

    broker.start(epoch=7)
    assert broker.shard.transactions == before
    assert broker.runtime.due_ms == 0
    broker.runtime.tick(0)

    (markers,) = broker.effects
    assert (markers.coordinator_epoch, markers.partitions) == (7, (A0,))


def test_a_timeout_is_found_by_the_runtime() -> None:
    broker = Broker()
    broker.send(init(timeout_ms=1_000))
    broker.send(add(100, 0, A0))
    broker.log.commit()
    assert broker.runtime.due_ms < NEVER
    broker.runtime.tick(1_001)
    broker.log.commit()
    assert broker.shard.transactions["t"].state is TransactionState.PREPARE_ABORT
    assert len(broker.effects) == 1

"""How decisions get into the log: gathered for a loop turn or a few, then appended as one batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.base.errors import ApiError, NotCoordinator
from barnabas.coordinator import runtime_codec
from barnabas.coordinator.runtime_errors import append_error
from barnabas.coordinator.runtime_slot import Done, Gathered, Pending, Slot, Waiter

if TYPE_CHECKING:
    from barnabas.coordinator.runtime_types import (
        Appender,
        CoordinatorRecord,
        Decision,
        Joining,
        Producer,
        Ticket,
    )
    from barnabas.records.compression import Codec

log = logging.getLogger(__name__)

Wire: TypeAlias = "tuple[bytes, bytes | None]"

MAX_BATCH_BYTES = 1024 * 1024
COMMIT_TIMEOUT_MS = 5000
ENOUGH_RECORDS = 128
"""What a batch costs is next to nothing for each of so many: they need not wait for more."""


class Writer:
    """Replays what was decided at once, and appends it when the shell says so.

    One batch takes what a partition's shard decides on until then, so that a commit costs a few
    bytes in a batch that is written anyway.  The shell ends it at the end of a loop turn at the
    earliest, where logs are written anyway.  Records of a transaction are a batch of their own and
    are appended at once.
    """

    def __init__(
        self,
        *,
        appender: Appender,
        fail: Callable[[Slot, Iterable[Pending], Exception], None],
        effect: Callable[[int, Any], None] | None,
        at_turn_end: Callable[[Callable[[], None]], None] | None,
        max_batch_bytes: int,
        commit_timeout_ms: int,
        codec: Codec,
    ) -> None:
        """`fail` gives a shard up whose records are not in the log.  The rest: see `Runtime`."""
        self._appender = appender
        self._fail = fail
        self._effect = effect
        self._at_turn_end = at_turn_end or _at_once
        self._max_batch_bytes = max_batch_bytes
        self._commit_timeout_ms = commit_timeout_ms
        self._codec = codec
        self._gathering: list[Slot] = []
        """Whose slots have gathered something since the last `flush`; some may be named twice."""
        self._will_flush = False

    def carry_out(
        self, slot: Slot, decision: Decision, waiter: Waiter | None, ticket: Ticket, now_ms: int
    ) -> None:
        """Do what a shard decided, and answer once it is committed; `waiter` is who asked."""
        deadline_ms = now_ms + self._commit_timeout_ms
        if not decision.records:
            slot.enqueue(decision, waiter, ticket, deadline_ms).replayed = True
            slot.drain(self._effect)
            return
        runs: Iterable[Sequence[CoordinatorRecord]] = (decision.records,)
        if len(decision.records) > 1 and not decision.atomic:
            runs = runtime_codec.split(decision.records, max_batch_bytes=self._max_batch_bytes)
        pending: Pending | None = None
        try:
            for run in runs:
                wires = [record.wire or runtime_codec.encode(record) for record in run]
                batch = self._room_for(slot, wires, decision.producer, now_ms)
                if pending is None:
                    pending = slot.enqueue(decision, waiter, ticket, deadline_ms)
                if batch is None:  # what came before is lost, and the shard with it
                    slot.drop(NotCoordinator())
                    return
                pending.replayed = False
                batch.let_wait(pending)
                for record, wire in zip(run, wires, strict=True):
                    batch.add(wire, now_ms)
                    slot.shard.replay(record, producer=decision.producer)
        except Exception as error:
            if not isinstance(error, ApiError):
                log.exception("partition %d: a change could not be made", slot.partition)
            if pending is not None or not decision.standalone:
                pending = pending or slot.enqueue(decision, waiter, ticket, deadline_ms)
                self._fail(slot, [pending], error)
            else:
                refused = Pending(deadline_ms)
                slot.collect(decision, waiter, ticket, refused.replies)
                refused.refuse(append_error(error))
            return
        assert pending is not None, "a run has records"
        pending.replayed = True
        batch = slot.gathered
        if batch is not None and (batch.count >= ENOUGH_RECORDS or batch.producer is not None):
            self._flush(slot)  # who asks the log for open transactions must see one of those

    def join(self, slot: Slot, event: Joining, done: Done, now_ms: int) -> bool:
        """Let `event` join the batch that is gathered.  False: it cannot and nothing was done."""
        batch = slot.gathered
        if batch is None or batch.producer is not None or not batch.pendings:
            return False
        pending = batch.pendings[-1]
        if pending is not slot.pending[-1] or pending.effects:
            return False
        room_bytes = self._max_batch_bytes - batch.size_bytes
        try:
            reply = event.join(slot.shard, batch, room_bytes, now_ms)
        except ApiError:
            return False  # to be refused in its turn
        if reply is None:
            return False
        pending.replies.append((event, done, reply))
        pending.deadline_ms = now_ms + self._commit_timeout_ms
        if batch.count >= ENOUGH_RECORDS:
            self._flush(slot)
        return True

    def write_marker(
        self,
        slot: Slot,
        batch: bytearray,
        replay: Callable[[], None],
        waiter: Waiter,
        now_ms: int,
    ) -> None:
        """Append the end of a transaction at once, behind what was gathered, and replay it."""
        if not self._flush(slot):
            waiter.refuse(NotCoordinator())
            return
        deadline_ms = now_ms + self._commit_timeout_ms
        pending = Pending(deadline_ms, uncommitted=1, replies=[(*waiter, None)])
        slot.pending.append(pending)
        try:
            self._appender.append(slot.partition, batch, partial(self._committed, slot, [pending]))
        except Exception as error:
            if not isinstance(error, ApiError):
                log.exception("partition %d: a marker could not be written", slot.partition)
            slot.pending.remove(pending)
            waiter.refuse(append_error(error))
            return
        replay()
        pending.replayed = True
        slot.drain(self._effect)

    # Gathering

    def flush_later(self) -> None:
        """Have what is gathered appended when the shell thinks it is time."""
        if self._gathering and not self._will_flush:
            self._will_flush = True
            self._at_turn_end(self._flush_all)

    def flush_now(self) -> None:
        """Append what is gathered before its time; the shell's call then finds nothing to do."""
        for slot in list(self._gathering):
            self._flush(slot)

    def _flush_all(self) -> None:
        self._will_flush = False
        slots, self._gathering = self._gathering, []
        for slot in slots:
            self._flush(slot)

    def _room_for(
        self,
        slot: Slot,
        wires: Sequence[tuple[bytes, bytes | None]],
        producer: Producer | None,
        now_ms: int,
    ) -> Gathered | None:
        """The batch that takes these records next.  None: the one before could not be appended."""
        while (batch := slot.gathered) is not None:
            room = self._max_batch_bytes - batch.size_bytes
            for wire in wires:
                room -= runtime_codec.size_bound(wire)
            if batch.producer == producer and room >= 0:
                return batch
            if not self._flush(slot):
                return None
        self._appender.check(slot.partition)
        batch = slot.gathered = Gathered(now_ms, producer)
        self._gathering.append(slot)
        return batch

    def _flush(self, slot: Slot) -> bool:
        """Append what was gathered for a partition.  False: it failed, and the shard is gone."""
        batch, slot.gathered = slot.gathered, None
        if batch is not None:
            try:
                committed = partial(self._committed, slot, batch.pendings)
                self._appender.append(slot.partition, batch.finish(self._codec), committed)
            except Exception as error:
                if not isinstance(error, ApiError):
                    log.exception("partition %d: a batch could not be written", slot.partition)
                self._fail(slot, batch.pendings, error)
        return not slot.is_gone()

    def _committed(self, slot: Slot, pendings: list[Pending], error: Exception | None) -> None:
        if slot.is_gone():
            return
        if error is not None:
            self._fail(slot, pendings, error)
            return
        for pending in pendings:
            pending.uncommitted -= 1
            assert pending.uncommitted >= 0, "a batch is committed once"
        slot.drain(self._effect)


def _at_once(call: Callable[[], None]) -> None:
    call()

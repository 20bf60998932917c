"""Drives shards: decide, replay at once, append with others, answer when committed.

One `Runtime` serves one internal topic.  It owns a shard for each partition that this broker
leads, and runs on the broker's loop thread.  It reads no clock: `now_ms` is an argument, and must
not jump (the shell passes a wall clock that moves with the monotonic one).

What a shard decides on in one loop turn, or a few, becomes one batch, appended when the shell says
so; records of a transaction are a batch of their own, appended at once.  So a shard is always ahead
of what is committed, by what is gathered and the batches that are on their way.  Nothing that was
decided on them leaves before they are committed: replies wait for every earlier batch.  If a batch
fails, the shard is thrown away and loaded again from the log, and whoever waited is told so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    UnknownServerError,
)
from barnabas.coordinator import runtime_codec
from barnabas.coordinator.runtime_errors import append_error
from barnabas.coordinator.runtime_slot import Done, Pending, Slot, Status, Waiter, deliver
from barnabas.coordinator.runtime_types import (
    Answer,
    Appender,
    CoordinatorRecord,
    Decision,
    Event,
    Producer,
    Shard,
    Ticket,
)
from barnabas.coordinator.runtime_writer import COMMIT_TIMEOUT_MS, MAX_BATCH_BYTES, Writer
from barnabas.records.compression import Buffer, Codec
from barnabas.records.control import ControlType, EndTxnMarker, encode_end_txn_marker

if TYPE_CHECKING:
    from barnabas.coordinator.runtime_codec import KeyTypes
    from barnabas.coordinator.runtime_types import Joining

__all__ = [
    "Answer",
    "Appender",
    "CoordinatorRecord",
    "Decision",
    "Event",
    "Producer",
    "Runtime",
    "Shard",
    "Ticket",
    "append_error",
]

log = logging.getLogger(__name__)

NEVER = float("inf")


class Runtime:
    """The shards of one internal topic on this broker."""

    def __init__(
        self,
        *,
        make_shard: Callable[[int, int], Shard],
        types: KeyTypes,
        appender: Appender,
        reload: Callable[[int, int], None],
        effect: Callable[[int, Any], None] | None = None,
        at_turn_end: Callable[[Callable[[], None]], None] | None = None,
        max_batch_bytes: int = MAX_BATCH_BYTES,
        commit_timeout_ms: int = COMMIT_TIMEOUT_MS,
        codec: Codec = Codec.NONE,
    ) -> None:
        """`make_shard(partition, epoch)` makes an empty shard; `types` are the topic's records.

        `reload(partition, epoch)` asks the shell to read the log again and to call `load` with it,
        at once or later; `effect(partition, effect)` is called for each effect of a decision.
        `at_turn_end(call)` makes the shell call back before it writes logs, at the end of this turn
        or a later one; without it every event is a turn of its own.
        """
        self._make_shard = make_shard
        self._types = types
        self._reload = reload
        self._writer = Writer(
            appender=appender,
            fail=self._fail,
            effect=effect,
            at_turn_end=at_turn_end,
            max_batch_bytes=max_batch_bytes,
            commit_timeout_ms=commit_timeout_ms,
            codec=codec,
        )
        self._commit_timeout_ms = commit_timeout_ms
        self._slots: dict[int, Slot] = {}
        self._tickets = count(1)
        self.due_ms: float = NEVER
        """When `tick` has something to do, or earlier."""

    # Becoming and ceasing to be the coordinator

    def begin_load(self, partition: int, *, epoch: int) -> None:
        """This broker leads the partition since `epoch`: refuse requests until it is loaded."""
        slot = self._slots.get(partition)
        if slot is not None:
            if slot.status is Status.LOADING and slot.epoch == epoch:
                return
            self._drop(slot)
        self._slots[partition] = Slot(partition, epoch, self._make_shard(partition, epoch))

    def feed(self, partition: int, *, epoch: int, batches: Iterable[Buffer]) -> bool:
        """Replay batches, each a whole one, in log order.  False: nobody wants them any more.

        Records of unknown types are passed over.  An exception ends the load: the partition is
        then refused with NOT_COORDINATOR until it is loaded again.
        """
        slot = self._loading(partition, epoch)
        if slot is None:
            return False
        try:
            for batch in batches:
                runtime_codec.replay_batch(slot.shard, batch, self._types)
        except Exception:
            self._drop(slot)
            raise
        return True

    def finish_load(self, partition: int, *, epoch: int, now_ms: int) -> bool:
        """The log was fed to its end: the shard serves requests from now on."""
        slot = self._loading(partition, epoch)
        if slot is None:
            return False
        slot.shard.loaded(now_ms)
        slot.status = Status.ACTIVE
        self._note_deadline(slot)
        return True

    def load(
        self, partition: int, batches: Iterable[Buffer], *, epoch: int = 0, now_ms: int
    ) -> bool:
        """`begin_load`, `feed` and `finish_load` in one."""
        self.begin_load(partition, epoch=epoch)
        return self.feed(partition, epoch=epoch, batches=batches) and self.finish_load(
            partition, epoch=epoch, now_ms=now_ms
        )

    def unload(self, partition: int, *, epoch: int | None = None) -> None:
        """This broker no longer leads the partition; with `epoch`: unless it does since later."""
        slot = self._slots.get(partition)
        if slot is not None and (epoch is None or slot.epoch <= epoch):
            self._drop(slot)

    def shard(self, partition: int) -> Shard | None:
        """The shard, if it serves requests."""
        slot = self._slots.get(partition)
        return slot.shard if slot is not None and slot.is_active() else None

    def partitions(self) -> list[int]:
        """The partitions that are served or being loaded."""
        return list(self._slots)

    def is_loading(self, partition: int) -> bool:
        slot = self._slots.get(partition)
        return slot is not None and slot.status is Status.LOADING

    # Requests and time

    def schedule(self, partition: int, event: Event, done: Done, *, now_ms: int) -> None:
        """Decide on `event`; `done` gets the reply, maybe before this returns."""
        slot = self._slots.get(partition)
        if slot is None or slot.status is not Status.ACTIVE:
            done(event.refuse(_not_active(slot)))
            return
        ticket = next(self._tickets)
        try:
            decision = slot.shard.decide(event, ticket=ticket, now_ms=now_ms)
        except ApiError as error:
            decision = Decision(reply=event.refuse(error))
        except Exception:
            log.exception("a request could not be decided")
            decision = Decision(reply=event.refuse(UnknownServerError()))
        if not (slot.pending or decision.records) and decision.is_plain_reply:
            deliver(done, decision.reply)  # nothing to wait for: the usual heartbeat
        elif decision.is_nothing_yet:
            slot.parked[ticket] = Waiter(event, done)
        else:
            self._writer.carry_out(slot, decision, Waiter(event, done), ticket, now_ms)
            self.due_ms = min(self.due_ms, now_ms + self._commit_timeout_ms)
        due = slot.shard.next_deadline()
        if due is not None:
            if due <= now_ms:
                self._run_due(slot, now_ms)  # before anything else is decided
            elif due < self.due_ms:
                self.due_ms = due
        self._writer.flush_later()

    def join(self, partition: int, event: Joining, done: Done, *, now_ms: int) -> None:
        """The same for an event that can join others: quicker while a batch is being gathered."""
        slot = self._slots.get(partition)
        if (
            slot is None
            or now_ms >= self.due_ms  # first what is due
            or not self._writer.join(slot, event, done, now_ms)
        ):
            self.schedule(partition, event, done, now_ms=now_ms)
        else:
            self._note(now_ms + self._commit_timeout_ms)
            self._note(slot.shard.next_deadline())

    def broadcast(self, event: Event, *, now_ms: int) -> None:
        """Let every shard that serves requests decide on `event`.  Nobody waits for the replies."""
        for partition, slot in list(self._slots.items()):
            if slot.is_active():
                self.schedule(partition, event, _forget, now_ms=now_ms)

    def end_transaction(
        self,
        partition: int,
        producer: Producer,
        *,
        committed: bool,
        coordinator_epoch: int,
        now_ms: int,
        done: Callable[[ApiError | None], None],
    ) -> None:
        """Write the marker that ends a producer's transaction here, and let it take effect."""
        slot = self._slots.get(partition)
        if slot is None or not slot.is_active():
            done(_not_active(slot))
            return
        kind = ControlType.COMMIT if committed else ControlType.ABORT
        batch = encode_end_txn_marker(
            EndTxnMarker(kind, coordinator_epoch),
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            timestamp=now_ms,
        )
        replay = partial(slot.shard.replay_end_txn, producer, committed=committed)
        self._writer.write_marker(slot, batch, replay, Waiter(_MARKER, done), now_ms)
        self._run_due(slot, now_ms)
        self._writer.flush_later()

    def flush(self) -> None:
        """Append all that is gathered: what the logs take may be less in a moment."""
        self._writer.flush_now()

    def tick(self, now_ms: int) -> None:
        """Let every shard decide on what is due."""
        if self.due_ms > now_ms:
            return
        self.due_ms = NEVER
        for slot in list(self._slots.values()):
            if slot.is_active():
                self._run_due(slot, now_ms)
        self._writer.flush_later()

    def _run_due(self, slot: Slot, now_ms: int) -> None:
        if not slot.is_active():
            return
        due = slot.shard.next_deadline()
        if due is not None and due <= now_ms:
            for decision in slot.shard.tick(now_ms):
                self._writer.carry_out(slot, decision, None, 0, now_ms)
                if slot.is_gone():
                    return
            due = slot.shard.next_deadline()
        while slot.pending and (late := slot.first_awaited()) is not None:
            if late.deadline_ms > now_ms:
                self._note(late.deadline_ms)
                break
            late.refuse(CoordinatorNotAvailable("The change was not replicated in time."))
        self._note(due)

    # Failing

    def _fail(self, slot: Slot, failed: Iterable[Pending], error: Exception) -> None:
        """A batch was lost: the shard knows things that are not in the log.  Load it again."""
        if slot.is_gone():
            return
        log.warning("partition %d: an append failed, loading it again: %s", slot.partition, error)
        for pending in failed:
            pending.refuse(append_error(error))
        self._drop(slot)
        if slot.partition not in self._slots:
            self.begin_load(slot.partition, epoch=slot.epoch)
            self._reload(slot.partition, slot.epoch)

    def _drop(self, slot: Slot) -> None:
        """Forget the shard and tell everyone who waits for it."""
        if self._slots.get(slot.partition) is slot:
            del self._slots[slot.partition]
        slot.drop(NotCoordinator())

    def _loading(self, partition: int, epoch: int) -> Slot | None:
        slot = self._slots.get(partition)
        if slot is None or slot.status is not Status.LOADING or slot.epoch != epoch:
            return None
        return slot

    def _note_deadline(self, slot: Slot) -> None:
        self._note(slot.shard.next_deadline())
        awaited = slot.first_awaited()
        if awaited is not None:
            self._note(awaited.deadline_ms)

    def _note(self, due: int | None) -> None:
        if due is not None and due < self.due_ms:
            self.due_ms = due


class _Marker:
    """The event of a transaction's end, whose reply is the error, if any."""

    def refuse(self, error: ApiError) -> ApiError:
        return error


_MARKER = _Marker()


def _not_active(slot: Slot | None) -> ApiError:
    return NotCoordinator() if slot is None else CoordinatorLoadInProgress()


def _forget(_: Any) -> None:
    """Nobody waits."""

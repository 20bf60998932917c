"""One partition in the runtime: its shard, and who waits for what."""

from __future__ import annotations

import enum
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from barnabas.coordinator.runtime_codec import BatchBuilder

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.runtime_types import Decision, Event, Producer, Shard, Ticket

log = logging.getLogger(__name__)

Done: TypeAlias = Callable[[Any], None]


class Status(enum.Enum):
    LOADING = "loading"
    ACTIVE = "active"
    GONE = "gone"


def deliver(done: Done, reply: Any) -> None:
    """What goes wrong with an answer concerns nobody but who asked."""
    try:
        done(reply)
    except Exception:
        log.exception("a reply could not be delivered")


class Waiter(NamedTuple):
    """Someone who wants an answer."""

    event: Event
    done: Done

    def refuse(self, error: ApiError) -> None:
        deliver(self.done, self.event.refuse(error))


Reply: TypeAlias = "tuple[Event, Done, Any]"
"""A waiter with what it is told."""


@dataclass(slots=True, eq=False)
class Pending:
    """What leaves when its batches, and those before, are committed: of one decision, or of several
    that share a batch."""

    deadline_ms: int
    uncommitted: int = 0
    replayed: bool = False
    replies: list[Reply] = field(default_factory=list)
    effects: tuple[Any, ...] = ()

    def refuse(self, error: ApiError) -> None:
        """Tell everyone who waits for it; the batches themselves go on."""
        replies, self.replies = self.replies, []
        for event, done, _ in replies:
            deliver(done, event.refuse(error))


class Gathered(BatchBuilder):
    """Records that are replayed and not yet appended, with what waits for them."""

    __slots__ = ("pendings",)

    def __init__(self, now_ms: int, producer: Producer | None) -> None:
        super().__init__(now_ms, producer)
        self.pendings: list[Pending] = []

    def let_wait(self, pending: Pending) -> None:
        """`pending` rests on this batch."""
        if not self.pendings or self.pendings[-1] is not pending:
            self.pendings.append(pending)
            pending.uncommitted += 1


@dataclass(slots=True, eq=False)
class Slot:
    """A shard with the requests that wait: parked by the shard, or for a batch to be committed."""

    partition: int
    epoch: int
    shard: Shard
    status: Status = Status.LOADING
    parked: dict[Ticket, Waiter] = field(default_factory=dict)
    pending: deque[Pending] = field(default_factory=deque)
    gathered: Gathered | None = None
    draining: bool = False

    def is_active(self) -> bool:
        return self.status is Status.ACTIVE

    def is_gone(self) -> bool:
        return self.status is Status.GONE

    def first_awaited(self) -> Pending | None:
        """The oldest batch that someone still waits for."""
        for pending in self.pending:
            if pending.replies:
                return pending
        return None

    def enqueue(
        self, decision: Decision, waiter: Waiter | None, ticket: Ticket, deadline_ms: int
    ) -> Pending:
        """Queue what leaves by `decision`, if possible with what waits for the gathered batch."""
        pending, batch = self.pending[-1] if self.pending else None, self.gathered
        if (
            pending is None
            or batch is None
            or not batch.pendings
            or batch.pendings[-1] is not pending
            or pending.effects
        ):
            pending = Pending(deadline_ms)
            self.pending.append(pending)
        pending.deadline_ms = deadline_ms
        pending.effects = decision.effects
        if waiter is not None and decision.reply is not None and not decision.answers:
            pending.replies.append((*waiter, decision.reply))  # as most decisions have it
        else:
            self.collect(decision, waiter, ticket, pending.replies)
        return pending

    def collect(
        self,
        decision: Decision,
        waiter: Waiter | None,
        ticket: Ticket,
        replies: list[Reply],
    ) -> None:
        """Add the replies of `decision` to `replies`; park `waiter` if it gets none."""
        for answered, reply in decision.answers:
            if answered == ticket and waiter is not None:
                assert decision.reply is None, "a request is answered once"
                replies.append((*waiter, reply))
                waiter = None
            elif (parked := self.parked.pop(answered, None)) is not None:
                replies.append((*parked, reply))
        if waiter is not None:
            if decision.reply is None:
                self.parked[ticket] = waiter
            else:
                replies.append((*waiter, decision.reply))

    def drain(self, effect: Callable[[int, Any], None] | None) -> None:
        """Answer, in order, everything that rests on committed batches only."""
        if self.draining:
            return  # a reply led to this call: the loop below goes on
        self.draining = True
        try:
            pending = self.pending
            while pending and pending[0].replayed and not pending[0].uncommitted:
                ready = pending.popleft()
                for _, done, reply in ready.replies:
                    deliver(done, reply)
                for what in ready.effects:
                    assert effect is not None, "this runtime was given no use for effects"
                    effect(self.partition, what)
        finally:
            self.draining = False

    def drop(self, error: ApiError) -> None:
        """The shard is gone: tell everyone who waits."""
        self.status = Status.GONE
        self.gathered = None
        pending, self.pending = self.pending, deque()
        parked, self.parked = self.parked, {}
        for entry in pending:
            entry.refuse(error)
        for waiter in parked.values():
            waiter.refuse(error)

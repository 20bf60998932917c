"""One partition in the runtime: its shard, and who waits for what."""

from __future__ import annotations

import enum
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.coordinator.runtime_types import Decision, Event, Shard, Ticket

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


@dataclass(slots=True, eq=False)
class Waiter:
    """Someone who wants an answer."""

    event: Event
    done: Done

    def answer(self, reply: Any) -> None:
        deliver(self.done, reply)

    def refuse(self, error: ApiError) -> None:
        self.answer(self.event.refuse(error))


@dataclass(slots=True, eq=False)
class Pending:
    """What leaves when its batches, and those before, are committed."""

    deadline_ms: int
    uncommitted: int = 0
    replayed: bool = False
    replies: list[tuple[Waiter, Any]] = field(default_factory=list)
    effects: tuple[Any, ...] = ()

    def refuse(self, error: ApiError) -> None:
        """Tell everyone who waits for it; the batches themselves go on."""
        replies, self.replies = self.replies, []
        for waiter, _ in replies:
            waiter.refuse(error)


@dataclass(slots=True, eq=False)
class Slot:
    """A shard with the requests that wait: parked by the shard, or for a batch to be committed."""

    partition: int
    epoch: int
    shard: Shard
    status: Status = Status.LOADING
    parked: dict[Ticket, Waiter] = field(default_factory=dict)
    pending: deque[Pending] = field(default_factory=deque)
    draining: bool = False

    def is_active(self) -> bool:
        return self.status is Status.ACTIVE

    def is_gone(self) -> bool:
        return self.status is Status.GONE

    def first_awaited(self) -> Pending | None:
        """The oldest batch that someone still waits for."""
        if not self.pending:
            return None
        return next((pending for pending in self.pending if pending.replies), None)

    def enqueue(
        self, decision: Decision, waiter: Waiter | None, ticket: Ticket, deadline_ms: int
    ) -> Pending:
        """Queue the replies of `decision`; park `waiter` if it gets none."""
        pending = Pending(deadline_ms, effects=decision.effects)
        for answered, reply in decision.answers:
            if answered == ticket and waiter is not None:
                assert decision.reply is None, "a request is answered once"
                pending.replies.append((waiter, reply))
                waiter = None
            elif (parked := self.parked.pop(answered, None)) is not None:
                pending.replies.append((parked, reply))
        if waiter is not None:
            if decision.reply is None:
                self.parked[ticket] = waiter
            else:
                pending.replies.append((waiter, decision.reply))
        self.pending.append(pending)
        return pending

    def drain(self, effect: Callable[[int, Any], None] | None) -> None:
        """Answer, in order, everything that rests on committed batches only."""
        if self.draining:
            return  # a reply led to this call: the loop below goes on
        self.draining = True
        try:
            pending = self.pending
            while pending and pending[0].replayed and not pending[0].uncommitted:
                ready = pending.popleft()
                for waiter, reply in ready.replies:
                    waiter.answer(reply)
                for what in ready.effects:
                    assert effect is not None, "this runtime was given no use for effects"
                    effect(self.partition, what)
        finally:
            self.draining = False

    def drop(self, error: ApiError) -> None:
        """The shard is gone: tell everyone who waits."""
        self.status = Status.GONE
        pending, self.pending = self.pending, deque()
        parked, self.parked = self.parked, {}
        for entry in pending:
            entry.refuse(error)
        for waiter in parked.values():
            waiter.refuse(error)

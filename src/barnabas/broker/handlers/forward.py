"""Requests that the controller carries out: passed on, answered when it has, or when time is up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.base.errors import RequestTimedOut
from barnabas.broker.dispatch import Later
from barnabas.controller import decider
from barnabas.replication.purgatory import Parked

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


def forward(
    broker: Broker,
    request: Message,
    *,
    timeout_ms: int | None = None,
    finish: Callable[[Message], Message] | None = None,
) -> Message | Later:
    """The controller's answer, or REQUEST_TIMED_OUT after the timeout; through `finish` if given.

    A client without patience (a timeout of 0 or less) is refused at once and nothing happens.
    After a timeout the controller goes on; only the client stops waiting.
    """
    if timeout_ms is not None and timeout_ms <= 0:
        refused = decider.refuse(request, RequestTimedOut())
        return refused if finish is None else finish(refused)
    waiting = _Waiting(broker, request, finish)
    broker.controller.submit(request, waiting.answered)
    if timeout_ms is not None:
        waiting.limit(broker.clock.monotonic() + timeout_ms / 1000)
    return waiting.later


class _Waiting:
    """One request at the controller.  Answered once: by it, or by the clock."""

    __slots__ = ("_broker", "_done", "_finish", "_parked", "_request", "later")

    def __init__(
        self, broker: Broker, request: Message, finish: Callable[[Message], Message] | None
    ) -> None:
        self.later = Later()
        self._broker = broker
        self._request = request
        self._finish = finish
        self._parked: Parked | None = None
        self._done = False

    def limit(self, deadline: float) -> None:
        """Stop waiting then."""
        if not self._done:
            self._parked = Parked(self._expired, (), deadline)
            self._broker.replicas.produces.park(self._parked)
            self.later.on_abandon = self._forget

    def answered(self, response: Message) -> None:
        if not self._done:
            self._done = True
            self._forget()
            self._resolve(response)

    def _expired(self, expired: bool) -> bool:
        if expired and not self._done:
            self._done = True
            self._resolve(decider.refuse(self._request, RequestTimedOut()))
        return expired

    def _resolve(self, response: Message) -> None:
        self.later.resolve(response if self._finish is None else self._finish(response))

    def _forget(self) -> None:
        if self._parked is not None:
            self._broker.replicas.produces.forget(self._parked)

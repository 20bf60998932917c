"""From a decoded frame to a handler and back: a table of handlers, also for ApiVersions.

A handler is a plain function in `broker/handlers/kNN_name.py`, registered with its version range:

    @handles(ApiKey.METADATA, versions=(0, 13))
    def metadata(broker, ctx, request): ...

There is a table for each kind of listener.  Clients and other brokers come to those of a broker;
those of a controller are answered from `broker/controller_handlers`, whose handlers say
`on=CONTROLLER` and get the `ControllerPart` in place of the broker.

A handler returns the response, or a `Later` when the answer depends on something still to happen.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from barnabas.protocol.apis import BROKER, ApiKey

if TYPE_CHECKING:
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.net.connection import Connection
    from barnabas.broker.quotas.clients import Limits
    from barnabas.protocol.message import Message


@dataclass(slots=True, kw_only=True)
class RequestContext:
    """Who asked, on which listener, in which version."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    listener: BoundListener
    peer_host: str
    connection: Connection | None = None
    """What it came on, for who wants to know when that breaks."""
    limits: Limits | None = None
    """The quotas of who asked, if there are any."""
    pause_s: float = 0.0
    """How long the client has to wait after this request, as far as is known."""


Answer = Union["Message", Exception, None]


class Later:
    """An answer that is not known yet.  Resolved at most once, on the loop thread.

    `abandon` is called instead when the client has gone: `on_abandon` then forgets the wait.
    With `holds`, the requests that come behind it on the same connection wait for it too: they
    must not overtake it.
    """

    __slots__ = ("_callback", "_is_resolved", "_response", "holds", "on_abandon")

    def __init__(self, *, holds: bool = False) -> None:
        self.holds = holds
        self._callback: Callable[[Answer], None] | None = None
        self._is_resolved = False
        self._response: Answer = None
        self.on_abandon: Callable[[], None] | None = None

    def resolve(self, response: Answer) -> None:
        """The answer; or, for a fault of our own, the exception: then the connection is closed.

        None: the client wants no answer.
        """
        assert not self._is_resolved, "a request is answered once"
        self._is_resolved = True
        callback = self._callback
        self._let_go()
        if callback is None:
            self._response = response
        else:
            callback(response)

    def when_done(self, callback: Callable[[Answer], None]) -> None:
        """Call back with the response: now, if it is already known."""
        assert self._callback is None, "one connection waits for one answer"
        if self._is_resolved:
            callback(self._response)
        else:
            self._callback = callback

    def settled(self) -> Message | Later:
        """The response, if it is known already: then nobody need wait."""
        response = self._response
        if self._is_resolved and response is not None and not isinstance(response, Exception):
            return response
        return self

    def abandon(self) -> None:
        """Nobody waits any more.  The work itself goes on where it has effects."""
        on_abandon = self.on_abandon
        self._let_go()
        if not self._is_resolved and on_abandon is not None:
            on_abandon()

    def _let_go(self) -> None:
        """Who waits and what is waited for know this object: a cycle each, and a thousand waiting
        fetches a second would keep the garbage collector, and with it everybody, busy."""
        self._callback = self.on_abandon = None


NOBODY = Later()
"""For an answer that nobody has to be told of if the client goes: `abandon` does nothing."""


def attempts(later: Later, attempt: Callable[[bool], bool]) -> Callable[[bool], bool]:
    """`attempt`, for parking: if it fails, its client is told, and nobody else is harmed."""

    def guarded(expired: bool) -> bool:
        try:
            return attempt(expired)
        except Exception as error:
            later.resolve(error)
            return True

    return guarded


Handler = Callable[[Any, RequestContext, Any], "Message | Later | None"]
"""Gets the `Broker` or the `ControllerPart`.  None: the client wants no answer (acks=0)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One API that is answered on one kind of listener."""

    key: ApiKey
    version_min: int
    version_max: int
    handler: Handler


Table = dict[int, Entry]

HANDLERS: Table = {}
"""Of a broker's listeners."""
CONTROLLER_HANDLERS: Table = {}
"""Of a controller's listeners."""

_TABLES = {"broker": HANDLERS, "controller": CONTROLLER_HANDLERS}


def handles(
    key: ApiKey, *, versions: tuple[int, int], on: frozenset[str] = BROKER
) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of `key` for these versions, both included.

    `on`: BROKER, CONTROLLER or BOTH of `protocol.apis`.
    """

    def register(handler: Handler) -> Handler:
        for kind in on:
            assert key not in _TABLES[kind], f"{key.name} has two handlers"
            _TABLES[kind][key] = Entry(key, versions[0], versions[1], handler)
        return handler

    return register


def load_handlers() -> Table:
    """Import every handler module of a broker, so that its table is complete."""
    _import_all("barnabas.broker.handlers")
    return HANDLERS


def load_controller_handlers() -> Table:
    """The same for a controller: a broker that has none beside it need not know how."""
    from barnabas.broker.controller_handlers.decided import register_decided

    _import_all("barnabas.broker.controller_handlers")
    register_decided()
    return CONTROLLER_HANDLERS


def _import_all(name: str) -> None:
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("k"):
            importlib.import_module(f"{name}.{module.name}")

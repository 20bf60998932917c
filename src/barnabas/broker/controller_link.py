"""The way from a broker to the active controller, wherever that is now.

Answers come in order, so there are three connections: one for requests, which may take their time,
one for the fetch that waits for news of the metadata, one for heartbeats, which have no time.  When
the controller is not reached, or is one no more, the next of those that may be it is tried.  Loop
thread only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.base.errors import ErrorCode
from barnabas.client.node_connection import Address, NodeConnections
from barnabas.protocol.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.protocol.message import Message

Answered = Callable[["Message | None"], None]

BACKOFF_S_MAX = 0.1
"""A controller that comes back is wanted at once: there is one, and much waits for it."""
ACTIVE = 0
"""There is one address to connect to: that of the active controller."""


class Whereabouts(Protocol):
    """Where the active controller is."""

    def address(self) -> Address | None:
        """Where to look for it now; None if nobody is it."""

    def not_there(self, address: Address) -> None:
        """It was looked for there in vain."""


class Candidates:
    """One of a list, tried in turn: `controller.quorum.bootstrap.servers`."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        assert addresses, "a controller is somewhere"
        self._addresses = list(addresses)

    def address(self) -> Address | None:
        return self._addresses[0]

    def not_there(self, address: Address) -> None:
        if self._addresses[0] == address:
            self._addresses.append(self._addresses.pop(0))


def candidates(config: BrokerConfig) -> list[Address]:
    """The controllers that the settings name."""
    voters = [voter.partition("@")[2] for voter in config.list("controller.quorum.voters")]
    found = []
    for server in config.list("controller.quorum.bootstrap.servers") or voters:
        host, _, port = server.rpartition(":")
        found.append((host.strip("[]"), int(port)))
    return found


class ControllerLink:
    """Sends, and finds the controller again.  `close` it in the end."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        whereabouts: Whereabouts,
        *,
        client_id: str,
        timeout_s: float,
        retry_s: float,
    ) -> None:
        """`timeout_s`: what a controller may take that does nothing but answer; `retry_s`: how long
        to wait before something is tried again."""
        self._loop = loop
        self.retry_s = retry_s
        self.timeout_s = timeout_s
        self.whereabouts = whereabouts
        self._requests, self._follows, self._beats = (
            NodeConnections(
                loop,
                client_id=client_id,
                address_of=lambda _: whereabouts.address(),
                backoff_s_max=BACKOFF_S_MAX,
            )
            for _ in "123"
        )

    @property
    def on_lost(self) -> Callable[[int], None]:
        """Called when the connection for requests is gone: the controller has noticed, too."""
        return self._requests.on_lost

    @on_lost.setter
    def on_lost(self, call: Callable[[int], None]) -> None:
        self._requests.on_lost = call

    def send(self, request: Message, done: Answered, *, timeout_s: float | None = None) -> None:
        """Send once; `done` gets None if there was no answer."""
        is_beat = request.api_key == ApiKey.BROKER_HEARTBEAT
        over = self._beats if is_beat else self._requests
        self._send(over, request, done, timeout_s or self.timeout_s)

    def follow(self, request: Message, done: Answered) -> None:
        """The same, over the connection for fetches of metadata."""
        self._send(self._follows, request, done, self.timeout_s)

    def _send(
        self, over: NodeConnections, request: Message, done: Answered, timeout_s: float
    ) -> None:
        address = self.whereabouts.address()

        def answered(response: Any) -> None:
            if address is not None and (response is None or _is_elsewhere(response)):
                self.whereabouts.not_there(address)
            done(response)

        over.send(ACTIVE, request, answered, timeout_s=timeout_s)

    async def ask(self, request: Message) -> Any:
        """The answer, or None: `send` for who can wait."""
        answered: asyncio.Future[Message | None] = self._loop.create_future()

        def done(response: Message | None) -> None:
            if not answered.done():  # else whoever asked does not wait any more
                answered.set_result(response)

        self.send(request, done)
        return await answered

    def close(self) -> None:
        self._requests.close()
        self._follows.close()
        self._beats.close()


_ELSEWHERE = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.MISMATCHED_ENDPOINT_TYPE})


def _is_elsewhere(response: Any) -> bool:
    """Whether the answer says that the controller is another node, or on another listener."""
    return getattr(response, "error_code", 0) in _ELSEWHERE

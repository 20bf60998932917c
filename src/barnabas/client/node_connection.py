"""Connections from one node of a cluster to another, on the event loop.

A request goes out in the highest version that both sides know; its answer goes to a callback.
Nothing here waits or raises: a node that cannot be reached, does not answer in time or answers
nonsense is the answer `None`, and whoever asked decides what follows.  Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from barnabas.protocol.apis import APIS, Api, ApiKey
from barnabas.protocol.errors import DecodeError, EncodeError
from barnabas.protocol.framing import read_response_header, request_frame
from barnabas.protocol.messages.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    from barnabas.protocol.message import Message

logger = logging.getLogger("barnabas.nodes")

Answered = Callable[["Message | None"], None]
Address = tuple[str, int]

INT32 = Struct(">i")
RESPONSE_BYTES_MAX = 1 << 30
UNREAD_S = 0.02
"""How long it may take to read an answer that has arrived."""
BACKOFF_S = 0.05
BACKOFF_S_MAX = 1.0


@dataclass(slots=True)
class _Waiting:
    """A request that was sent, or waits until the versions are known."""

    request: Message
    done: Answered
    deadline: float
    api: Api
    timer: asyncio.TimerHandle | None = None
    version: int = -1
    is_last_chance: bool = False

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


class NodeConnection(asyncio.BufferedProtocol):
    """One connection.  It begins to connect when it is made, and is of no use after it is lost.

    Requests may be sent at once and in any number; the other node answers them in order.  Every
    answer is received into memory of its own, which the `records` fields of the message refer to:
    it stays as it is as long as somebody holds them.

    `on_lost` is called once, after everything outstanding was answered with `None`; not if it was
    this side that called `close`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        host: str,
        port: int,
        client_id: str,
        on_lost: Callable[[], None],
    ) -> None:
        self.address: Address = (host, port)
        self.was_ready = False
        """The other node has answered: it is a Kafka node, not only a port."""
        self._loop = loop
        self._client_id = client_id
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._versions: dict[int, tuple[int, int]] | None = None
        self._unsent: list[_Waiting] = []
        self._sent: dict[int, _Waiting] = {}
        """By correlation id, in the order in which they were sent."""
        self._correlation_id = 0
        self._is_closed = False
        self._expect_length()
        self._connecting = loop.create_task(self._connect())

    def __repr__(self) -> str:
        return f"<NodeConnection to {self.address[0]}:{self.address[1]}>"

    @property
    def is_open(self) -> bool:
        """Not lost and not closed; perhaps not connected yet."""
        return not self._is_closed

    @property
    def outstanding(self) -> int:
        """How many requests wait for an answer."""
        return len(self._sent) + len(self._unsent)

    def send(self, request: Message, done: Answered, *, timeout_s: float) -> None:
        """Send `request`; `done` gets the answer, or None if there will be none.

        After `timeout_s` without it the connection is closed: what comes later could not be told
        from what is late.  On a connection that is closed already `done` is called soon.
        """
        if self._is_closed:
            self._loop.call_soon(_call, done, None)
            return
        deadline = self._loop.time() + timeout_s
        waiting = _Waiting(request, done, deadline, APIS[request.api_key])
        waiting.timer = self._loop.call_at(deadline, self._expired, waiting)
        if self._versions is None:
            self._unsent.append(waiting)
        else:
            self._write(waiting)

    def close(self) -> None:
        """End it from this side.  Whatever is outstanding is answered with None before this
        returns."""
        self._end(None, tell=False)

    # -- connecting

    async def _connect(self) -> None:
        try:
            await self._loop.create_connection(lambda: self, *self.address)
        except OSError as error:
            self._end(f"cannot connect: {error.strerror or error}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        if self._is_closed:
            self._transport.abort()
            return
        # No timer: those of the requests that wait for it are enough.
        self._put(ApiVersionsRequest(), APIS[ApiKey.API_VERSIONS], 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(f"lost: {exc}" if exc else "the other side closed it")

    def _expired(self, waiting: _Waiting) -> None:
        """If it was this process that stood still, the answer may be there and not read yet: it
        gets as much time again."""
        if waiting.is_last_chance:
            self._end(f"no answer to {type(waiting.request).__name__} in time")
            return
        waiting.is_last_chance = True
        late_s = self._loop.time() - waiting.deadline
        waiting.timer = self._loop.call_later(max(late_s, UNREAD_S), self._expired, waiting)

    def _end(self, reason: str | None, *, tell: bool = True) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if reason is not None:
            logger.debug("%r: %s", self, reason)
        if self._transport is not None:
            self._transport.abort()
        else:
            self._connecting.cancel()
        waiting = [*self._sent.values(), *self._unsent]
        self._sent.clear()
        self._unsent.clear()
        for one in waiting:
            one.stop_timer()
            _call(one.done, None)
        if tell:
            self._on_lost()

    # -- out

    def _write(self, waiting: _Waiting) -> None:
        assert self._versions is not None
        low, high = self._versions.get(waiting.api.key, (0, -1))
        version = min(high, waiting.api.versions[-1])
        try:
            if version < max(low, waiting.api.versions[0]):
                raise EncodeError(f"{waiting.api.name} is not answered there")
            waiting.version = version
            self._sent[self._put(waiting.request, waiting.api, version)] = waiting
        except EncodeError as error:
            logger.warning("%r: %s", self, error)
            waiting.stop_timer()
            self._loop.call_soon(_call, waiting.done, None)

    def _put(self, request: Message, api: Api, version: int) -> int:
        correlation_id = self._correlation_id
        data = request_frame(request, api, version, correlation_id, self._client_id)
        self._correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        assert self._transport is not None
        self._transport.write(data)
        return correlation_id

    # -- in

    def _expect_length(self) -> None:
        self._frame = bytearray(4)
        self._filled = 0
        self._in_body = False

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._frame)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._is_closed or self._filled < len(self._frame):
            return
        if not self._in_body:
            (size,) = INT32.unpack(self._frame)
            if not 4 <= size <= RESPONSE_BYTES_MAX:
                self._end(f"an answer of {size} bytes")
                return
            self._frame, self._filled, self._in_body = bytearray(size), 0, True
            return
        frame = memoryview(self._frame)
        self._expect_length()
        try:
            self._received(frame)
        except DecodeError as error:
            logger.warning("%r: an answer that makes no sense: %s", self, error)
            self._end(None)

    def _received(self, frame: memoryview) -> None:
        if self._versions is None:
            self._versions_known(frame)
            return
        (correlation_id,) = INT32.unpack_from(frame)
        waiting = self._sent.pop(correlation_id, None)
        if waiting is None:
            raise DecodeError(f"nobody asked number {correlation_id}")
        waiting.stop_timer()
        try:
            _, pos = read_response_header(frame, waiting.api, waiting.version)
            response = waiting.api.response.decode(frame, waiting.version, pos)
        except DecodeError:
            _call(waiting.done, None)
            raise
        _call(waiting.done, response)

    def _versions_known(self, frame: memoryview) -> None:
        api = APIS[ApiKey.API_VERSIONS]
        _, pos = read_response_header(frame, api, 0)
        response: Any = api.response.decode(frame, 0, pos)
        self._versions = {
            one.api_key: (one.min_version, one.max_version) for one in response.api_keys
        }
        self.was_ready = True
        unsent, self._unsent = self._unsent, []
        for waiting in unsent:
            self._write(waiting)


class _Failures(NamedTuple):
    """A node was not reached there: how long it is left alone, and until when."""

    address: Address
    pause_s: float
    not_before: float


class NodeConnections:
    """Connections to the nodes of a cluster by id: made when first needed, and made anew.

    `address_of` says where a node is now, or None if nobody knows.  A node that could not be
    reached is not tried again for a while, longer each time; requests to it fail meanwhile.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        client_id: str,
        address_of: Callable[[int], Address | None],
        backoff_s_max: float = BACKOFF_S_MAX,
    ) -> None:
        self._backoff_s_max = backoff_s_max
        self._loop = loop
        self._client_id = client_id
        self._address_of = address_of
        self.on_lost: Callable[[int], None] = lambda node_id: None
        """Told of a node whose connection broke, or could not be made; it may be sent to again."""
        self._open: dict[int, NodeConnection] = {}
        self._failures: dict[int, _Failures] = {}

    def send(self, node_id: int, request: Message, done: Answered, *, timeout_s: float) -> None:
        """Send `request` to that node, over the connection that all requests of this kind share.

        `done` gets None if the node is not known or reached, or does not answer in time.
        """
        connection = self._connection(node_id)
        if connection is None:
            self._loop.call_soon(_call, done, None)
        else:
            connection.send(request, done, timeout_s=timeout_s)

    def open(self, node_id: int, on_lost: Callable[[], None]) -> NodeConnection | None:
        """A connection for the caller alone, who closes it; None if the address is not known."""
        address = self._address_of(node_id)
        return None if address is None else self._make(address, on_lost)

    def drop(self, node_id: int) -> None:
        """Close the connection to that node, if there is one; the next request makes a new one."""
        self._failures.pop(node_id, None)
        connection = self._open.pop(node_id, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close them all.  What is outstanding is answered with None."""
        while self._open:
            self._open.popitem()[1].close()

    def _connection(self, node_id: int) -> NodeConnection | None:
        address = self._address_of(node_id)
        known = self._open.get(node_id)
        if known is not None:
            if known.address == address:
                return known
            self.drop(node_id)
        if address is None:
            return None
        failures = self._failures.get(node_id)
        if (
            failures is not None
            and failures.address == address
            and self._loop.time() < failures.not_before
        ):
            return None
        made = self._make(address, lambda: self._lost(node_id, made))
        self._open[node_id] = made
        return made

    def _make(self, address: Address, on_lost: Callable[[], None]) -> NodeConnection:
        return NodeConnection(
            self._loop,
            host=address[0],
            port=address[1],
            client_id=self._client_id,
            on_lost=on_lost,
        )

    def _lost(self, node_id: int, connection: NodeConnection) -> None:
        if self._open.get(node_id) is connection:
            del self._open[node_id]
        if connection.was_ready:
            self._failures.pop(node_id, None)
        else:
            self._back_off(node_id, connection.address)
        self.on_lost(node_id)

    def _back_off(self, node_id: int, address: Address) -> None:
        before = self._failures.get(node_id)
        pause_s = BACKOFF_S
        if before is not None and before.address == address:
            pause_s = min(before.pause_s * 2, self._backoff_s_max)
        self._failures[node_id] = _Failures(address, pause_s, self._loop.time() + pause_s)


def _call(done: Answered, response: Message | None) -> None:
    """A callback that fails concerns nobody but itself."""
    try:
        done(response)
    except Exception:
        logger.exception("an answer of another node could not be used")

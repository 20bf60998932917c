"""One end of a simulated connection, as asyncio's protocols see it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from barnabas.lab.sim.network import Network
    from barnabas.lab.sim.process import Process

WINDOW_BYTES = 256 * 1024
"""What the network takes from a sender before the receiver has read it."""
PIECE_CHANCE = 0.1
"""How often bytes that were sent together arrive in two pieces."""


class Transport(asyncio.Transport):
    """Bytes written here arrive at `peer`'s protocol; network.py says what may happen to them."""

    def __init__(
        self, network: Network, process: Process, context: Context, peername: tuple[str, int]
    ) -> None:
        super().__init__({"peername": peername})
        self.process = process
        self.peer: Transport
        self._network = network
        self._loop = network.loop
        self._context = context
        self._protocol: asyncio.BaseProtocol | None = None
        self._inbox: deque[bytes | None] = deque()
        """Arrived and not yet given to the protocol; None is the end of the stream."""
        self._outbox: deque[bytes | None] = deque()
        """Sent and not yet arrived."""
        self._in_flight = 0
        self._arriving = False
        self._high, self._low = 64 * 1024, 16 * 1024
        self._is_paused = False
        self._reading = True
        self._closing = False
        self._lost = False

    def __str__(self) -> str:
        return f"{self.process}"

    @property
    def is_lost(self) -> bool:
        return self._lost

    @property
    def ends(self) -> tuple[str, str]:
        return self.process.machine, self.peer.process.machine

    def join(self, peer: Transport) -> None:
        self.peer, peer.peer = peer, self

    def start(self, protocol: asyncio.BaseProtocol) -> None:
        if self._lost:
            return
        self._protocol = protocol
        protocol.connection_made(self)
        self._hand_over()

    # -- asyncio's side

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self._loop.call_soon(self._hand_over, context=self._context)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 * 1024 if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return max(0, self._in_flight - WINDOW_BYTES)

    def write(self, data: Any) -> None:
        if self._closing or not data:
            return
        piece = bytes(data)
        self._in_flight += len(piece)
        self._outbox.append(piece)
        self._send()
        if not self._is_paused and self.get_write_buffer_size() > self._high:
            self._is_paused = True
            self.get_protocol().pause_writing()

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        """What was written still arrives, then the end of the stream."""
        if not self._closing:
            self._closing = True
            self._outbox.append(None)
            self._send()
            self._loop.call_soon(self._lose, None, context=self._context)

    def abort(self) -> None:
        if not self._lost:
            self._closing = True
            self._outbox.clear()
            self._loop.call_soon(self._lose, None, context=self._context)
            self._reset_peer()

    # -- the way to the peer

    def _send(self) -> None:
        """See to it that the next piece arrives."""
        if self._arriving or not self._outbox or self._network.is_cut(*self.ends):
            return
        self._arriving = True
        self._after_delay(self.peer._context, self._arrive)  # noqa: SLF001 (its other half)

    def go_on(self) -> None:
        """The link is healed."""
        self._send()

    def _arrive(self) -> None:
        """What was sent gets there, mostly all of it at once."""
        self._arriving = False
        if not self._outbox or self._network.is_cut(*self.ends):
            return
        random = self._network.random
        if random.random() < PIECE_CHANCE and (first := self._outbox[0]) is not None:
            cut = random.randint(1, len(first))
            self._outbox.popleft()
            if cut < len(first):
                self._outbox.appendleft(first[cut:])
            self._deliver(first[:cut])
        else:
            pieces = [piece for piece in self._outbox if piece is not None]
            ends = len(pieces) < len(self._outbox)
            self._outbox.clear()
            if pieces:
                self._deliver(b"".join(pieces))
            if ends:
                self._deliver(None)
        self._send()

    def _deliver(self, piece: bytes | None) -> None:
        peer = self.peer
        if peer.is_lost:
            self._after_delay(self._context, self._break)
            return
        self._network.arrived(peer, -1 if piece is None else len(piece))
        peer._inbox.append(piece)  # noqa: SLF001
        self._loop.call_soon(peer._hand_over, context=peer._context)  # noqa: SLF001

    def _hand_over(self) -> None:
        """Give the protocol what has arrived."""
        while self._inbox and self._reading and not self._closing and self._protocol is not None:
            piece = self._inbox.popleft()
            if piece is None:
                if not cast("asyncio.Protocol", self._protocol).eof_received():
                    self.close()
                return
            self._give(piece)
            self.peer._taken(len(piece))  # noqa: SLF001

    def _give(self, piece: bytes) -> None:
        protocol = self._protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            cast("asyncio.Protocol", protocol).data_received(piece)
            return
        at = 0
        while at < len(piece) and not self._closing:
            target = cast("memoryview", protocol.get_buffer(len(piece) - at))
            size = min(len(target), len(piece) - at)
            target[:size] = piece[at : at + size]
            protocol.buffer_updated(size)
            at += size

    def _taken(self, size: int) -> None:
        self._in_flight -= size
        if self._is_paused and self.get_write_buffer_size() <= self._low:
            self._is_paused = False
            if not self._lost:
                self._loop.call_soon(self.get_protocol().resume_writing, context=self._context)

    # -- the end

    def reset(self) -> None:
        """The connection breaks, for both ends, as soon as they learn of it."""
        self._outbox.clear()
        self.peer._outbox.clear()  # noqa: SLF001
        self._after_delay(self._context, self._break)
        self._reset_peer()
        if not self.process.is_alive:
            self._network.forget(self)

    def _reset_peer(self) -> None:
        peer = self.peer
        if not self._network.is_cut(*self.ends):  # else it learns when the link is healed
            self._after_delay(peer._context, peer._break)  # noqa: SLF001

    def _after_delay(self, context: Context, call: Callable[[], None]) -> None:
        self._loop.call_later(self._network.delay(*self.ends), call, context=context)

    def _break(self) -> None:
        self._lose(ConnectionResetError("connection reset by peer"))

    def _lose(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        self._inbox.clear()
        if self._protocol is not None:
            self._protocol.connection_lost(error)
        self._network.forget(self)

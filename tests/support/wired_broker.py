"""A small broker behind real connections: frames go in, a turn is run by hand, answers come out."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from small_broker import LISTENER, SmallBroker

from barnabas.broker.dispatch import load_handlers
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.repeats import Complaints
from barnabas.broker.net.requests import Requests
from barnabas.broker.net.turn import Turn
from barnabas.protocol.framing import FrameReader


class Timer:
    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.cancelled = False

    def when(self) -> float:
        return self.at

    def cancel(self) -> None:
        self.cancelled = True


class HandLoop:
    """As much of an event loop as a turn needs; nothing runs by itself."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.soon: list[Callable[[], None]] = []
        self.timers: list[Timer] = []

    def time(self) -> float:
        return float(self._clock.monotonic())

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def call_at(self, at: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(at, call))
        return self.timers[-1]

    def run(self) -> None:
        """Run what was put off, and what that puts off."""
        while self.soon:
            calls, self.soon = self.soon, []
            for call in calls:
                call()

    def advance(self, seconds: float) -> None:
        """Let time pass; what is due runs."""
        self._clock.mono += seconds
        for timer in [t for t in self.timers if not t.cancelled and t.at <= self.time()]:
            timer.cancelled = True
            timer.call()
        self.run()


class FakeTransport(asyncio.Transport):
    """Over a real socket, so that `send` and `sendfile` are real."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__({"socket": sock, "peername": ("127.0.0.1", 1)})
        self.reading = True
        self.is_closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True


class Client:
    """One connection to a `WiredBroker`, and what came back on it."""

    def __init__(self, server: Any, requests: Requests) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._far.setblocking(False)
        self._reader = FrameReader()
        self.connection = Connection(server, LISTENER, requests)
        self._transport = FakeTransport(self._near)
        self.connection.connection_made(self._transport)

    @property
    def is_closed(self) -> bool:
        return self._transport.is_closed

    def send(self, frame: bytes, *, cut: int | None = None) -> None:
        """Deliver a frame; in two pieces if `cut` is inside it."""
        data = struct.pack(">i", len(frame)) + frame
        for piece in (data[:cut], data[cut:]) if cut is not None else (data,):
            at = 0
            while at < len(piece) and not self.is_closed:
                target = self.connection.get_buffer(-1)
                size = min(len(target), len(piece) - at)
                target[:size] = piece[at : at + size]
                self.connection.buffer_updated(size)
                at += size

    def answers(self) -> list[bytes]:
        """The answers that have come since last asked, without their lengths."""
        found = []
        try:
            while data := self._far.recv(1 << 20):
                found += list(self._reader.feed(data))
        except BlockingIOError:
            pass
        return found

    def lose(self) -> None:
        """The connection breaks; called twice it does nothing more."""
        if self._near.fileno() >= 0:
            self.connection.connection_lost(None)
            self._near.close()
            self._far.close()


class WiredBroker(SmallBroker):
    """Close it in the end."""

    def __init__(self, path: Path, **settings: str) -> None:
        super().__init__(path, **settings)
        self.loop = HandLoop(self.clock)
        self.turn = Turn(self.loop, self.replicas, self.clock)  # type: ignore[arg-type]
        self.requests = Requests(self.broker, load_handlers())
        self.server = SimpleNamespace(
            turn=self.turn,
            request_bytes_max=100 << 20,
            queued_parts_max=500,
            complaints=Complaints(),
            admit=lambda _: True,
            forget=lambda _: None,
        )
        self.clients: list[Client] = []

    def connect(self) -> Client:
        self.clients.append(Client(self.server, self.requests))
        return self.clients[-1]

    def run_turn(self) -> None:
        self.loop.run()

    def close(self) -> None:
        for client in self.clients:
            client.lose()
        super().close()

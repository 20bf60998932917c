"""Frames come out of a connection as they went in, however the network cuts them."""

from __future__ import annotations

import asyncio
import socket
import struct
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.dispatch import Later
from barnabas.broker.net.buffers import FramePool, ReceiveBuffer
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.parts import Slot
from barnabas.broker.net.repeats import Complaints


class Transport(asyncio.Transport):
    def __init__(self, sock: socket.socket) -> None:
        super().__init__({"socket": sock, "peername": ("127.0.0.1", 1)})
        self.reading = True
        self.closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def close(self) -> None:
        self.closed = True


class Turn:
    """As much of a turn as a connection needs; nothing is ever dirty here."""

    def __init__(self) -> None:
        self.buffer = ReceiveBuffer()
        self.frames = FramePool()
        self.replicas = SimpleNamespace(dirty=[])
        self.now = 0.0
        self.is_scheduled = False

    def schedule(self, connection: Connection | None = None) -> None:
        pass

    def count(self) -> None:
        pass

    def write(self) -> None:
        self.buffer.release()


class Seen:
    """Stands for the handlers: remembers frames, and answers each with one byte if asked to."""

    def __init__(self, *, answer: bool = False) -> None:
        self.frames: list[bytes] = []
        self._answer = answer

    def handle(
        self, connection: Connection, data: bytearray, view: memoryview, start: int, end: int
    ) -> None:
        self.frames.append(bytes(data[start:end]))
        if self._answer:
            connection.out.append(b"x")


def connect(seen: Seen, sock: socket.socket, parts_max: int = 500) -> tuple[Connection, Transport]:
    server: Any = SimpleNamespace(
        turn=Turn(),
        request_bytes_max=1_000_000,
        queued_parts_max=parts_max,
        complaints=Complaints(),
        admit=lambda _: True,
        forget=lambda _: None,
    )
    listener: Any = SimpleNamespace(name="PLAINTEXT", uses_sendfile=True)
    connection = Connection(server, listener, seen)  # type: ignore[arg-type]
    transport = Transport(sock)
    connection.connection_made(transport)
    return connection, transport


def deliver(connection: Connection, transport: Transport, stream: bytes, sizes: list[int]) -> int:
    """Push bytes in as a socket would, in chunks of the given sizes; returns how many went in."""
    at = turn = 0
    while at < len(stream) and transport.reading and not transport.closed:
        target = connection.get_buffer(-1)
        size = min(sizes[turn % len(sizes)], len(target), len(stream) - at)
        target[:size] = stream[at : at + size]
        connection.buffer_updated(size)
        at += size
        turn += 1
    return at


frames_strategy = st.lists(
    st.binary(min_size=8, max_size=40)
    | st.integers(0, 3).map(lambda n: bytes([n]) * (90_000 * (n + 1))),
    max_size=12,
)


@given(
    frames=frames_strategy,
    sizes=st.lists(st.integers(1, 200_000) | st.integers(1, 9), min_size=1),
)
def test_any_chunking_gives_the_same_frames(frames: list[bytes], sizes: list[int]) -> None:
    if min(sizes) < 10:
        frames = [frame[:40] for frame in frames]
    stream = b"".join(struct.pack(">i", len(f)) + f for f in frames)
    near, far = socket.socketpair()
    with near, far:
        seen = Seen()
        connection, transport = connect(seen, near)

        deliver(connection, transport, stream, sizes)
        connection.connection_lost(None)

    assert seen.frames == frames


@given(count=st.integers(1, 60), chunk=st.integers(1, 300), limit=st.integers(1, 10))
def test_a_client_that_does_not_read_is_not_read_from_and_loses_nothing(
    count: int, chunk: int, limit: int
) -> None:
    frames = [bytes([n]) * 10 for n in range(count)]
    stream = b"".join(struct.pack(">i", len(f)) + f for f in frames)
    near, far = socket.socketpair()
    with near, far:
        seen = Seen(answer=True)
        connection, transport = connect(seen, near, parts_max=limit)
        at = 0
        while at < len(stream) or connection.out or not transport.reading:
            at += deliver(connection, transport, stream[at:], [chunk])
            assert len(connection.out) <= limit
            assert not transport.closed
            connection.drain()
        connection.connection_lost(None)
        answers = far.recv(1000)

    assert seen.frames == frames
    assert answers == b"x" * count


@given(size=st.integers(-(2**31), 7) | st.integers(1_000_001, 2**31 - 1), chunk=st.integers(1, 8))
def test_an_absurd_length_closes_the_connection_before_anything_is_kept(
    size: int, chunk: int
) -> None:
    near, far = socket.socketpair()
    with near, far:
        seen = Seen()
        connection, transport = connect(seen, near)

        deliver(connection, transport, struct.pack(">i", size) + bytes(100), [chunk])
        connection.connection_lost(None)

    assert transport.closed
    assert seen.frames == []


@given(chunk=st.integers(1, 300), before=st.integers(0, 3), behind=st.integers(0, 9))
def test_nothing_overtakes_an_answer_that_holds_its_connection(
    chunk: int, before: int, behind: int
) -> None:
    frames = [bytes([n]) * 10 for n in range(before + 1 + behind)]
    stream = b"".join(struct.pack(">i", len(f)) + f for f in frames)
    near, far = socket.socketpair()
    with near, far:
        seen = Holding(before)
        connection, transport = connect(seen, near)
        at = deliver(connection, transport, stream, [chunk])
        connection.drain()
        assert seen.frames == frames[: before + 1]

        assert seen.slot is not None
        connection.fill(seen.slot, [])
        connection.drain()
        deliver(connection, transport, stream[at:], [chunk])
        connection.connection_lost(None)

    assert seen.frames == frames


class Holding(Seen):
    """The answer to one of the frames holds the connection."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self.slot: Slot | None = None

    def handle(
        self, connection: Connection, data: bytearray, view: memoryview, start: int, end: int
    ) -> None:
        super().handle(connection, data, view, start, end)
        if len(self.frames) == self._number + 1:
            self.slot = connection.answer_later(Later(holds=True))

"""A relay between clients and a broker that keeps what was asked, to be sent again much later.

Frames are passed on whole.  Requests of the kinds in `kept` are also kept: somebody sends them when
no one expects them any more.  For answers that get lost, and all else, see the lab's faults.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType


class KeepingRelay:
    """Listens on `port`; set `target_port` before a client connects.  A context manager."""

    def __init__(self, kept: frozenset[int]) -> None:
        """`kept` has api keys."""
        self.target_port = 0
        self.kept_frames: list[bytes] = []
        self._kept = kept
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> KeepingRelay:
        self._run(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._open:
                _end(sock)
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive(), "the relay did not end"
        for sock in self._open:
            sock.close()

    def _run(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed: no more clients
            broker = socket.create_connection(("127.0.0.1", self.target_port))
            with self._lock:
                self._open += [client, broker]
            self._run(self._pass_requests, client, broker)
            self._run(self._pass_answers, broker, client)

    def _pass_requests(self, client: socket.socket, broker: socket.socket) -> None:
        while frame := _frame(client):
            (key,) = struct.unpack_from(">h", frame, 4)
            if key in self._kept:
                self.kept_frames.append(frame)
            if not _pass_on(broker, frame):
                break
        _end(broker)

    def _pass_answers(self, broker: socket.socket, client: socket.socket) -> None:
        while (frame := _frame(broker)) and _pass_on(client, frame):
            pass
        _end(client)
        _end(broker)


def _frame(sock: socket.socket) -> bytes:
    """A whole frame, its length included; empty at the end of the connection."""
    prefix = _exactly(sock, 4)
    return prefix and prefix + _exactly(sock, struct.unpack(">i", prefix)[0])


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        try:
            chunk = sock.recv(count - len(data))
        except OSError:
            return b""
        if not chunk:
            return b""
        data += chunk
    return bytes(data)


def _pass_on(sock: socket.socket, frame: bytes) -> bool:
    try:
        sock.sendall(frame)
    except OSError:
        return False
    return True


def _end(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side was faster
        sock.shutdown(socket.SHUT_RDWR)

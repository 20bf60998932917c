"""The network between the brokers of a soak: a relay before each, and pairs that can be cut.

A broker says who it is by its client id in the first request of a connection; so one relay before a
broker knows which of the others speaks, and cuts the two off from each other, both ways, while
everybody else goes on.  Clients do not come this way.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading

WHO = re.compile(rb"broker-(\d+)")
CHUNK = 256 * 1024
CONNECT_S = 5


class Links:
    """All relays.  Use as a context manager; every call is safe on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cut: set[frozenset[int]] = set()
        self._open: dict[frozenset[int], set[socket.socket]] = {}
        self._listeners: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Links:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            sockets = [each for found in self._open.values() for each in found]
        for each in sockets:
            _end(each)
        for thread in self._threads:
            thread.join()

    def relay(self, node: int, target_port: int) -> int:
        """A relay before `node`, which listens on `target_port`; the port to advertise."""
        listener = socket.create_server(("127.0.0.1", 0))
        self._listeners.append(listener)
        self._spawn(self._accept, listener, node, target_port)
        port: int = listener.getsockname()[1]
        return port

    def cut(self, one: int, other: int) -> None:
        """Neither reaches the other from now on."""
        pair = frozenset((one, other))
        with self._lock:
            self._cut.add(pair)
            sockets = list(self._open.get(pair, ()))
        for each in sockets:
            _end(each)

    def mend(self) -> None:
        """Everybody reaches everybody again."""
        with self._lock:
            self._cut.clear()

    def _spawn(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket, node: int, target_port: int) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return  # closed
            self._spawn(self._serve, near, node, target_port)

    def _serve(self, near: socket.socket, node: int, target_port: int) -> None:
        with near, contextlib.suppress(OSError):
            first = _first_frame(near)
            found = WHO.search(first)
            pair = frozenset((int(found[1]), node)) if found else frozenset((node,))
            with socket.create_connection(("127.0.0.1", target_port), CONNECT_S) as far:
                far.settimeout(None)
                with self._lock:
                    if pair in self._cut:
                        return
                    self._open.setdefault(pair, set()).update((near, far))
                try:
                    far.sendall(first)
                    back = threading.Thread(target=_pass, args=(far, near), daemon=True)
                    back.start()
                    _pass(near, far)
                    back.join()
                finally:
                    with self._lock:
                        self._open[pair] -= {near, far}


def _first_frame(sock: socket.socket) -> bytes:
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
        more = sock.recv(CHUNK)
        if not more:
            raise ConnectionError("closed before its first request")
        data += more
    return data


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)

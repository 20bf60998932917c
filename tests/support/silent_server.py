"""A server that takes connections and never answers."""

from __future__ import annotations

import socket
import threading
from types import TracebackType


class SilentServer:
    """A context manager with threads of its own."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.was_asked = threading.Event()
        """Somebody has connected and sent something."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> SilentServer:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end(self._listener)
        self._threads[0].join()
        for each in self._open:
            end(each)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return  # closed: the end
            self._open.append(sock)
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            while sock.recv(65536):
                self.was_asked.set()
        except OSError:
            pass  # the client has gone, which is all the same here
        finally:
            sock.close()


def end(sock: socket.socket) -> None:
    """Wakes whoever waits for it."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it was closed already
    sock.close()

"""A broker that is there, and then is not: it dies after so many answers."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from types import TracebackType

from barnabas_process import BarnabasProcess
from silent_server import end


class DyingBroker:
    """A broker behind a relay that all clients are sent to.  A context manager.

    `live_for` says after how many answers it dies: connections break, and nobody listens any more
    until it is called again.
    """

    def __init__(self, data_dir: Path) -> None:
        self._lock = threading.Lock()
        self._left = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._broker = BarnabasProcess(
            data_dir,
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{self._port}",
            "offsets.topic.num.partitions=1",
            "transaction.state.log.num.partitions=1",
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> DyingBroker:
        self._broker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._die()
        for thread in self._threads:
            thread.join()
        self._broker.stop()

    def live_for(self, answers: int) -> None:
        self._die()
        for thread in self._threads:
            thread.join()
        self._left = answers
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._threads = [threading.Thread(target=self._accept, args=(self._listener,))]
        self._threads[0].start()

    def _die(self) -> None:
        with self._lock:
            self._left = 0
            for each in (self._listener, *self._open):
                end(each)
            self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # it has died
            broker = socket.create_connection(("127.0.0.1", self._broker.port))
            with self._lock:
                self._open |= {client, broker}
            for target, ends in (
                (self._requests, (client, broker)),
                (self._answers, (broker, client)),
            ):
                thread = threading.Thread(target=target, args=ends)
                self._threads.append(thread)
                thread.start()

    def _requests(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass  # one of the two has gone: so does the other
        end(target)

    def _answers(self, source: socket.socket, target: socket.socket) -> None:
        try:
            with source.makefile("rb") as stream:
                while size := stream.read(4):
                    frame = size + stream.read(int.from_bytes(size, "big"))
                    with self._lock:
                        self._left -= 1
                        is_last = self._left < 0
                    if is_last:
                        self._die()
                        return
                    target.sendall(frame)
        except OSError:
            pass  # one of the two has gone: so does the other
        end(target)

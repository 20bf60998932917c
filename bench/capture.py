"""A proxy that keeps the Produce requests which pass through it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

from harness.wire import receive

PRODUCE = 0


class CaptureProxy:
    """Forwards frames between clients and one broker on 127.0.0.1, each way in a thread.

    Clients reconnect to whatever address the broker advertises, so that address is replaced by the
    proxy's own in every answer: host and port keep their length, nothing else has to change.
    """

    def __init__(self, broker: str) -> None:
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.produced: list[bytes] = []
        self._open: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed: the capture is over
            broker = socket.create_connection(self._broker)
            self._open += [client, broker]
            for source, sink, look in (
                (client, broker, self._look_at_request),
                (broker, client, self._rewrite_answer),
            ):
                pair = (source, sink, look)
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(
        self, source: socket.socket, sink: socket.socket, look: Callable[[bytes], bytes]
    ) -> None:
        try:
            while True:
                prefix = receive(source, 4)
                body = receive(source, struct.unpack(">i", prefix)[0])
                sink.sendall(prefix + look(body))
        except OSError:
            pass  # one side closed; the other is told so
        finally:
            for connection in (source, sink):
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # already gone

    def _look_at_request(self, body: bytes) -> bytes:
        if struct.unpack_from(">h", body)[0] == PRODUCE:
            self.produced.append(struct.pack(">i", len(body)) + body)
        return body

    def _rewrite_answer(self, body: bytes) -> bytes:
        host = self._broker[0].encode()
        own = int(self.address.rpartition(":")[2])
        return body.replace(
            host + struct.pack(">i", self._broker[1]), host + struct.pack(">i", own)
        )


def capture_produce(broker: str, send: Callable[[str], None]) -> bytes:
    """Let `send` produce through a proxy; the largest Produce frame, with its length in front."""
    proxy = CaptureProxy(broker)
    try:
        send(proxy.address)
    finally:
        proxy.close()
    if not proxy.produced:
        raise RuntimeError("no Produce request passed the proxy")
    return max(proxy.produced, key=len)

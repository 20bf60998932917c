"""How answers leave: by `send` and `sendfile` on the raw socket, or as copies through a transport.

Loop thread only.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from barnabas.broker.net.parts import COPIED_BYTES_MAX, Slot, gather

if TYPE_CHECKING:
    import asyncio

    from barnabas.storage.fs import FileSlice

READ_CHUNK_BYTES = 256 * 1024
"""What is read from disk at once for a listener that cannot use sendfile."""
WAKE_BYTES = 16 * 1024
"""When a socket is full, this much goes through the transport, which tells when it has room."""


class Outlet:
    """The way out of one connection.

    It has a second handle on the transport's descriptor, for `send` with flags.  A transport
    without a socket (TLS in memory, the simulator's) gets copies instead, and so does one whose
    listener cannot use sendfile.
    """

    __slots__ = ("_direct", "_sock", "_transport", "writable")

    def __init__(self, transport: asyncio.Transport, *, uses_sendfile: bool) -> None:
        self._transport = transport
        self.writable = True
        """The transport holds nothing that waits for the client to read."""
        sock = transport.get_extra_info("socket")
        self._sock = None if sock is None else _second_handle(sock.fileno())
        self._direct = sock is not None and uses_sendfile

    def detach(self) -> None:
        """The transport closes its descriptor."""
        if self._sock is not None:
            self._sock.detach()

    def send(self, out: list[Any]) -> int:
        """Send what can be sent; returns how many parts of `out` are done with."""
        if not self._direct:
            return self._send_copied(out)
        if len(out) == 1:  # as most answers leave: alone, and of one piece
            part = out[0]
            if type(part) is Slot and part.parts is not None and len(part.parts) == 1:
                part = part.parts[0]
            if type(part) is bytes:
                self._send_bytes(part)
                return 1
        return self._send_direct(out)

    def _send_direct(self, out: list[Any]) -> int:
        done, count = 0, len(out)
        while done < count and self.writable:
            part = out[done]
            if type(part) is Slot:
                if part.parts is None:
                    break
                out[done : done + 1] = part.parts
                count = len(out)
            elif type(part) is bytes or len(part) <= COPIED_BYTES_MAX:
                stop = gather(out, done)
                count = len(out)
                data = b"".join(out[done:stop]) if stop > done + 1 else out[done]
                is_last = stop == count or type(out[stop]) is Slot
                self._send_bytes(data, 0 if is_last else socket.MSG_MORE)
                done = stop
            else:
                left = self._send_slice(part)
                if len(left):
                    out[done] = left
                else:
                    done += 1
        return done

    def _send_bytes(self, data: bytes, flags: int = 0) -> None:
        assert self._sock is not None
        try:
            sent = self._sock.send(data, flags)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._transport.write(data[sent:])

    def _send_slice(self, part: FileSlice) -> FileSlice:
        assert self._sock is not None
        try:
            sent = os.sendfile(self._sock.fileno(), part.fileno(), part.position, len(part))
        except BlockingIOError:
            chunk = part.narrow(0, min(WAKE_BYTES, len(part))).read()
            self._transport.write(chunk)
            sent = len(chunk)
        if sent == 0:
            raise OSError(f"{part} ends before its length")
        return part.narrow(sent, len(part) - sent)

    def _send_copied(self, out: list[Any]) -> int:
        done = 0
        while done < len(out) and self.writable:
            part = out[done]
            if type(part) is Slot:
                if part.parts is None:
                    break
                out[done : done + 1] = part.parts
            elif type(part) is bytes:
                self._transport.write(part)
                done += 1
            else:
                size = min(READ_CHUNK_BYTES, len(part))
                self._transport.write(part.narrow(0, size).read())
                if size == len(part):
                    done += 1
                else:
                    out[done] = part.narrow(size, len(part) - size)
        return done


def _second_handle(fd: int) -> socket.socket:
    sock = socket.socket(fileno=fd)
    sock.setblocking(False)
    if sock.family in {socket.AF_INET, socket.AF_INET6}:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock

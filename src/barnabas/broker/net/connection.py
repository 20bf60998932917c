"""One client connection: bytes in, frames to the handlers, answers out in request order.

Loop thread only.  Nothing is sent before the turn's writes are done (see `turn.py`): a handler's
answer waits in `out` until `drain`.  `out` holds bytes, file slices, and a `Slot` for each answer
that is not known yet; what stands behind an open slot waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from struct import Struct
from typing import TYPE_CHECKING, Any, cast

from barnabas.base.errors import StorageFailed
from barnabas.broker.net.buffers import FrameBuffer
from barnabas.broker.net.parts import Slot, encoded_bytes
from barnabas.broker.net.sending import Outlet
from barnabas.broker.quotas.clients import ANONYMOUS
from barnabas.protocol.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.broker.dispatch import Later
    from barnabas.broker.listeners import BoundListener
    from barnabas.broker.net.habits import Habit
    from barnabas.broker.net.planes import Planes
    from barnabas.broker.net.requests import Requests
    from barnabas.broker.net.server import Server
    from barnabas.broker.net.throttling import Mute

logger = logging.getLogger("barnabas.net")

INT32 = Struct(">i")
FRAME_BYTES_MIN = 8
"""Api key, version and correlation id: no request is shorter."""
OUT_BYTES_MAX = 256 * 1024
"""Encoded answers that may wait for a client to read; slices of files do not count."""


class Connection(asyncio.BufferedProtocol):
    """See the module.  `requests` turns a frame into answers; `server` counts connections."""

    def __init__(
        self, server: Server, listener: BoundListener, requests: Requests | Planes
    ) -> None:
        self.server = server
        self.listener = listener
        self.requests = requests
        self.turn = server.turn
        self.out: list[Any] = []
        self.out_bytes = 0
        """Of the encoded answers in `out`, those to produces excepted: they are short."""
        self.peer_host = "?"
        self.client_id: str | None = None
        self.user = ANONYMOUS
        self.produce_memo: Any = None
        self.habits: dict[int, Habit] = {}
        """By api key."""
        self.last_active = 0.0
        self.closed = False
        self._when_lost: list[Callable[[], None]] = []
        self.queued = False
        """In the turn's list of connections with something to send."""
        self._frame: FrameBuffer | None = None
        self._backlog: bytearray | None = None
        """Frames received but not yet parsed: too many answers are outstanding, or one holds."""
        self._held: Slot | None = None
        """An answer that no later request may overtake."""
        self.muted: Mute | None = None
        self._blocked = False
        self._reading = True

    # -- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._outlet = Outlet(self._transport, uses_sendfile=self.listener.uses_sendfile)
        peer = transport.get_extra_info("peername")
        # A socket for both families tells of an IPv4 client in this form.
        self.peer_host = peer[0].removeprefix("::ffff:") if isinstance(peer, tuple) else "local"
        self._transport.set_write_buffer_limits(high=0)
        self.last_active = self.turn.now
        if not self.server.admit(self):
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._outlet.detach()
        self._frame = self._backlog = None
        if self.muted is not None:
            self.muted.timer.cancel()
        for part in self.out:
            if type(part) is Slot:
                part.later.abandon()
        self.out = []  # not cleared: partitions hold positions in it until they are written
        self.server.forget(self)
        for call in self._when_lost:
            call()

    def when_lost(self, call: Callable[[], None]) -> None:
        """Call when this connection has ended, whoever ended it."""
        self._when_lost.append(call)

    def eof_received(self) -> bool:
        """The client sends no more: give it the answers that are ready, then close."""
        self.turn.write()
        self.drain()
        return False

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            return self._frame.target()
        buffer = self.turn.buffer
        target = buffer.target() if buffer.offset else buffer.first
        if target is None:
            self.turn.write()
            return buffer.first
        return target

    def buffer_updated(self, nbytes: int) -> None:
        turn = self.turn
        self.last_active = turn.now
        frame = self._frame
        if frame is None:
            buffer = turn.buffer
            start = buffer.offset
            end = start + nbytes
            rest = self._feed(buffer.data, buffer.view, start, end)
            if rest < end and not self.closed:
                self._keep(buffer.view[rest:end])
            if turn.replicas.dirty:
                buffer.offset = end  # what is before it is written from there
        else:
            frame.filled += nbytes
            if frame.filled >= frame.need:
                self._frame_complete(frame)
        first = self.out[0] if self.out else None
        if type(first) is not Slot or first.parts is not None:
            turn.schedule(self)
        elif not turn.is_scheduled:  # `fill` comes back to this connection
            turn.schedule()
        turn.count()

    def pause_writing(self) -> None:
        self._outlet.writable = False

    def resume_writing(self) -> None:
        self._outlet.writable = True
        self.last_active = self.turn.now  # the client has read
        self.turn.schedule(self)

    # -- in

    def _feed(self, data: bytearray, view: memoryview, pos: int, end: int) -> int:
        """Handle the complete frames in `data[pos:end]`; return where the first other starts."""
        frame_bytes_max = self.server.request_bytes_max
        parts_max = self.server.queued_parts_max
        handle = self.requests.handle
        try:
            while end - pos >= 4:
                size = INT32.unpack_from(data, pos)[0]
                if not FRAME_BYTES_MIN <= size <= frame_bytes_max:
                    raise DecodeError(
                        f"a request of {size} bytes; at most {frame_bytes_max} are read"
                    )
                stop = pos + 4 + size
                if stop > end:
                    break
                if (
                    len(self.out) >= parts_max
                    or self.out_bytes > OUT_BYTES_MAX
                    or self._held is not None
                    or self.muted is not None
                ):
                    self.block()
                    break
                handle(self, data, view, pos + 4, stop)
                pos = stop
                if self.closed:
                    break
        except DecodeError as error:
            self.refuse(error)
        except Exception:
            logger.exception("closing %s: a request could not be handled", self)
            self.close()
        return pos

    def _keep(self, rest: memoryview) -> None:
        if self._blocked:
            self._backlog = bytearray(rest)
            return
        need = 4 + INT32.unpack_from(rest)[0] if len(rest) >= 4 else 4
        self._frame = self.turn.frames.take(rest, need)

    def _frame_complete(self, frame: FrameBuffer) -> None:
        if frame.need == 4:
            size = INT32.unpack_from(frame.data)[0]
            if not FRAME_BYTES_MIN <= size <= self.server.request_bytes_max:
                self.refuse(f"a request of {size} bytes")
                return
            frame.need = 4 + size
            return
        self._frame = None
        view = memoryview(frame.data)
        rest = self._feed(frame.data, view, 0, frame.need)
        if rest < frame.need and not self.closed:
            self._keep(view[: frame.need])
        else:
            self.turn.frames.retire(frame)

    def block(self) -> None:
        self._blocked = True
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _unblock(self) -> None:
        """Answers have left: take up the backlog, and read again."""
        self._blocked = False
        backlog, self._backlog = self._backlog, None
        if backlog is not None:
            view = memoryview(backlog)
            rest = self._feed(backlog, view, 0, len(backlog))
            if rest < len(backlog) and not self.closed:
                self._keep(view[rest:])
        if not self._blocked and not self.closed:
            self._reading = True
            self._transport.resume_reading()
        self.turn.schedule(self)

    # -- out

    def answer(self, parts: list[Any]) -> None:
        """Put an encoded answer into the queue."""
        self.out.extend(parts)
        self._count(parts)

    def answer_later(self, later: Later) -> Slot:
        slot = Slot(later)
        self.out.append(slot)
        if later.holds:
            self._held = slot
        return slot

    def fill(self, slot: Slot, parts: list[Any]) -> None:
        slot.parts = parts
        if slot is self._held:
            self._held = None
        self._count(parts)
        if not self.queued:
            self.turn.schedule(self)

    def _count(self, parts: list[Any]) -> None:
        is_plain = len(parts) == 1 and type(parts[0]) is bytes
        self.out_bytes += len(parts[0]) if is_plain else sum(map(encoded_bytes, parts))

    def drain(self) -> None:
        """Send what can be sent.  Called by the turn, after its writes."""
        if self.closed or not self._outlet.writable:
            return
        out = self.out
        try:
            done = self._outlet.send(out)
        except OSError as error:
            logger.debug("closing %s: %s", self, error)
            self.close(now=True)
            return
        except StorageFailed as error:  # a slow reader of records that were deleted meanwhile
            logger.warning("closing %s: %s", self, error)
            self.close(now=True)
            return
        except Exception:
            logger.exception("closing %s: an answer could not be sent", self)
            self.close(now=True)
            return
        if done:
            self.last_active = self.turn.now
            del out[:done]
            if self.out_bytes:
                self.out_bytes = sum(map(encoded_bytes, out)) if out else 0
        if (
            self._blocked
            and self._held is None
            and self.muted is None
            and 2 * len(out) < self.server.queued_parts_max
            and self.out_bytes < OUT_BYTES_MAX
        ):
            self._unblock()

    def refuse(self, reason: object) -> None:
        """What came on it makes no sense, or is not answered here: say so, and end it."""
        self.server.complaints.say("closing", self, str(reason))
        self.close()

    def close(self, *, now: bool = False) -> None:
        """End this connection.  What the transport was already given still leaves, which a client
        that does not read can put off for ever: `now` ends it whatever is left, even if it is
        already on its way to its end."""
        if now:
            self.closed = True
            self._transport.abort()
        elif not self.closed:
            self.closed = True
            self._transport.close()

    def __str__(self) -> str:
        name = f" ({self.client_id!a})" if self.client_id else ""
        return f"connection from {self.peer_host}{name} on {self.listener.name}"

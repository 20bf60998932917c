"""One direction of a connection through a relay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Wanted = Callable[[bytes, bool], bool]
"""Whether a frame is to be looked at, by its head; whether one waits to be overtaken by it."""


class Way:
    """One direction: where its bytes come from and go to, and a message that waits to be
    overtaken."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.arrived_at = 0.0
        """When the last bytes came."""
        self.overtaken: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None

    def write(self, frame: bytes) -> None:
        """Pass a message on; one that it was to overtake follows.  On a connection that has ended
        meanwhile nothing arrives."""
        self._write(frame)
        self.release()

    def _write(self, frame: bytes) -> None:
        if not self.writer.is_closing():
            self.writer.write(frame)

    def let_overtake(self, frame: bytes, wait_s: float) -> None:
        """Hold a message until another has passed, or nothing came for so long."""
        self.release()
        self.overtaken = frame
        self._timer = asyncio.get_running_loop().call_later(wait_s, self.release)

    def in_order(self, wanted: Wanted) -> Callable[[bytes], bool]:
        """Ask about the frame that comes next.  One that waits to be overtaken goes before a frame
        that is passed on in pieces, as it must not get between them."""

        def ask(head: bytes) -> bool:
            is_wanted = wanted(head, self.overtaken is not None)
            if not is_wanted:
                self.release()
            return is_wanted

        return ask

    def release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.overtaken is not None:
            frame, self.overtaken = self.overtaken, None
            self._write(frame)

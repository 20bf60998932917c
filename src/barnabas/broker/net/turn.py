"""The end of each loop turn: write logs, wake waiting requests, send answers.  In that order.

Nothing is acknowledged before its bytes are in the page cache, and all batches that arrived for a
partition in one turn are written with one system call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.net.buffers import FramePool, ReceiveBuffer

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection
    from barnabas.replication.replicas import ReplicaManager

logger = logging.getLogger("barnabas.net")


class Turn:
    """Loop thread only.  `now` is the loop's monotonic time at the last turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, replicas: ReplicaManager) -> None:
        self.loop = loop
        self.replicas = replicas
        self.buffer = ReceiveBuffer()
        self.frames = FramePool()
        self.now = loop.time()
        self._ready: list[Connection] = []
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def schedule(self, connection: Connection | None = None) -> None:
        """Run at the end of this loop turn, and drain `connection` then."""
        if connection is not None and not connection.queued and not connection.closed:
            connection.queued = True
            self._ready.append(connection)
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self.run)

    def call(self, work: Callable[[], None]) -> None:
        """Do it, and what a turn does after it: for what comes from another thread."""
        work()
        self.schedule()

    def write(self) -> None:
        """Write all queued batches; every receive buffer may be reused after this."""
        self.replicas.write_dirty()
        self.buffer.release()
        self.frames.release()

    def run(self) -> None:
        self._scheduled = False
        self.now = self.loop.time()
        self.write()
        # Those who take up a backlog come again in a turn of their own: others are served between.
        ready, self._ready = self._ready, []
        for connection in ready:
            connection.queued = False
            connection.drain()
            if self.replicas.dirty:
                self.write()
        self._set_timer()

    def expire(self) -> None:
        """Answer the parked requests whose time is up."""
        self._timer = None
        self.now = self.loop.time()
        self.replicas.expire(self.now)
        self.run()

    def _set_timer(self) -> None:
        deadline = self.replicas.next_deadline()
        if deadline is None:
            return
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer = self.loop.call_at(deadline, self.expire)
        self._timer_at = deadline  # uvloop's handle does not always tell

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

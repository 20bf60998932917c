"""The end of each loop turn: write logs, wake waiting requests, send answers.  In that order.

Nothing is acknowledged before its bytes are in the page cache, and all batches that arrived for a
partition in one turn are written with one system call.  Where much is received in one turn of the
event loop, a turn here ends when its first answers have waited for a few milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.net.buffers import FramePool, ReceiveBuffer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.base.clock import Clock
    from barnabas.broker.net.connection import Connection
    from barnabas.storage.workers import Workers

logger = logging.getLogger("barnabas.net")

PATIENCE_S = 0.003
"""For so long answers wait for what else is to be read: fewer turns cost less ..."""
LOOK_EVERY = 32
"""... and a look at the clock is taken after so many reads, a power of two."""


class Written(Protocol):
    """What is written at the end of a turn, and who waits for it: the replicas of a broker."""

    @property
    def dirty(self) -> Sequence[object]:
        """What has something to be written."""

    def write_dirty(self) -> None:
        """Write it all, and answer who waits."""

    def expire(self, now: float) -> None:
        """Answer those whose time is up."""

    def next_deadline(self) -> float | None:
        """When the first of them is."""


class NothingWritten:
    """For a node that is no broker."""

    dirty: tuple[object, ...] = ()

    def write_dirty(self) -> None:
        pass

    def expire(self, now: float) -> None:
        pass

    def next_deadline(self) -> float | None:
        return None


class Turn:
    """Loop thread only.  `now` is the loop's monotonic time at the last turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, replicas: Written, clock: Clock) -> None:
        self.loop = loop
        self.replicas = replicas
        self.buffer = ReceiveBuffer()
        self.frames = FramePool()
        self.now = loop.time()
        self._ready: list[Connection] = []
        self._monotonic = clock.monotonic  # a loop's time stands still within one of its turns
        self._received = 0
        self._began = 0.0
        self.is_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def schedule(self, connection: Connection | None = None) -> None:
        """Run at the end of this loop turn, and drain `connection` then."""
        if connection is not None and not connection.queued and not connection.closed:
            connection.queued = True
            self._ready.append(connection)
        if not self.is_scheduled:
            self.is_scheduled = True
            self.loop.call_soon(self.run)

    def write(self) -> None:
        """Write all queued batches; every receive buffer may be reused after this."""
        self.replicas.write_dirty()
        self.buffer.release()
        self.frames.release()

    def count(self) -> None:
        """Something was received: where much was, answers need not wait for all the rest."""
        received = self._received = self._received + 1
        if received == 1:
            self._began = self._monotonic()
        elif received % LOOK_EVERY == 0 and self._monotonic() - self._began >= PATIENCE_S:
            self._end()

    def run(self) -> None:
        self.is_scheduled = False
        self._end()

    def _end(self) -> None:
        self._received = 0
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


class TurningWorkers:
    """Workers whose results are appends or answers: a turn follows each."""

    def __init__(self, workers: Workers, turn: Turn) -> None:
        self._workers = workers
        self._turn = turn

    def submit(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        def finished(failure: Exception | None) -> None:
            done(failure)
            self._turn.schedule()

        self._workers.submit(work, finished)

    def close(self) -> None:
        self._workers.close()

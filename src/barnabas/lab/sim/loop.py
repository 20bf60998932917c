"""An event loop on virtual time: nothing waits, and one seed decides what happens when.

Callbacks of one instant run in the order in which they were asked for, as on every asyncio loop.
When none is left, time jumps to the next timer; timers of the same instant run in an order drawn
from the seed.  There are no threads, no sockets and no signals: `network` is all there is outside.
"""

from __future__ import annotations

import asyncio
from asyncio import Future, Handle, Task, TimerHandle, _set_running_loop
from collections import deque
from heapq import heappop, heappush
from operator import methodcaller
from socket import AF_INET, IPPROTO_TCP, SOCK_STREAM
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from barnabas.lab.sim.process import CURRENT, OUTSIDE, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context
    from random import Random

    from barnabas.lab.sim.network import Network

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

run_handle = methodcaller("_run")
"""Asyncio leaves it to loops to call this method, and gives it a private name."""
CALLS_PER_INSTANT_MAX = 20_000
"""More callbacks than this without any time passing is a loop that will never end."""

CALLS_MAX = 500_000
"""A run that needs more is taken for one that never ends."""


class Stuck(Exception):  # noqa: N818 (says what happened)
    """The simulation cannot go on: nothing is left to happen, or time does not pass any more."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """See the module.  `network` is set by whoever builds the simulation."""

    network: Network

    def __init__(self, random: Random, *, start: float = 1000.0) -> None:
        self._now = start
        self._random = random
        self._ready: deque[tuple[Process, Handle]] = deque()
        self._timers: list[tuple[float, float, int, Process, Handle]] = []
        self._count = 0
        self._running = False
        self._closed = False
        self._calls = 0
        self._all_calls = 0
        self.on_exception: Callable[[dict[str, Any]], None] = lambda _: None

    # -- what asyncio asks of a loop

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        handle = Handle(callback, args, self, context)
        self._ready.append((_owner(context), handle))
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        handle = TimerHandle(when, callback, args, self, context)
        self._count += 1
        heappush(self._timers, (when, self._random.random(), self._count, _owner(context), handle))
        return handle

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """Asyncio tells; a cancelled timer is passed over when its time comes."""

    def create_future(self) -> Future[Any]:
        return Future(loop=self)

    def create_task(
        self, coro: Any, *, name: str | None = None, context: Context | None = None, **_: Any
    ) -> Task[Any]:
        return Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.on_exception(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.on_exception(context)

    async def shutdown_asyncgens(self) -> None:
        """There are none to wait for: a killed process does not clean up."""

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    # -- the outside

    async def getaddrinfo(self, *args: Any, **options: Any) -> Any:
        """Names are addresses here."""
        host, port = args
        return [(AF_INET, SOCK_STREAM, IPPROTO_TCP, "", (host, port))]

    async def create_connection(self, *args: Any, **options: Any) -> Any:
        factory, host, port = args[:3]
        return await self.network.connect(factory, host, int(port))

    async def create_server(self, *args: Any, **options: Any) -> Any:
        return self.network.serve(options["sock"], args[0])

    # -- running

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future or coroutine has its result."""
        return self.run(future)

    def run(self, work: Coroutine[Any, Any, T] | Future[T]) -> T:
        task: Future[T] = work if isinstance(work, Future) else self.create_task(work)
        _set_running_loop(self)
        self._running = True
        try:
            while not task.done():
                self._step()
        finally:
            self._running = False
            _set_running_loop(None)
        return task.result()

    def _step(self) -> None:
        """One callback, or one jump of time."""
        if not self._ready:
            self._jump()
            return
        process, handle = self._ready.popleft()
        if handle.cancelled() or not process.is_alive:
            return
        if process.held or process.paused_until > self._now:
            self._hold(process, handle)
            return
        self._calls += 1
        self._all_calls += 1
        if self._calls > CALLS_PER_INSTANT_MAX:
            raise Stuck(f"time stands still at {self._now:.3f} s: {handle}")
        if self._all_calls > CALLS_MAX:
            raise Stuck(f"no end in sight at {self._now:.3f} s, after {CALLS_MAX} callbacks")
        run_handle(handle)

    def _jump(self) -> None:
        timers = self._timers
        while timers and (timers[0][4].cancelled() or not timers[0][3].is_alive):
            heappop(timers)
        if not timers:
            raise Stuck(f"nothing is left to happen at {self._now:.3f} s")
        self._now = max(self._now, timers[0][0])
        self._calls = 0
        while timers and timers[0][0] <= self._now:
            entry = heappop(timers)
            self._ready.append((entry[3], entry[4]))

    def _hold(self, process: Process, handle: Handle) -> None:
        if not process.held:
            context = OUTSIDE.context()
            self.call_at(process.paused_until, self._release, process, context=context)
        process.held.append(handle)

    def _release(self, process: Process) -> None:
        held, process.held = process.held, []
        if process.paused_until > self._now:  # paused again meanwhile
            for handle in held:
                self._hold(process, handle)
            return
        self._ready.extendleft((process, handle) for handle in reversed(held))


def _owner(context: Context | None) -> Process:
    return CURRENT.get() if context is None else context.get(CURRENT, OUTSIDE)
